import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Started, startKms } from '../testing/index.ts'
import { BulkThread, bulkBytes } from './bulk.ts'

const aes = { kty: 'oct', alg: 'A256GCM' }
const url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const keyOf = async (kms: Started, spec: object = aes): Promise<string> =>
  (await kms.user('alice').post('/v1/crypto/keys', spec)).json.kid

// Issue 13 item 7
test('large data is encrypted and decrypted as small data is, directly and for an RSA key', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const rsa = await keyOf(kms, { kty: 'RSA', alg: 'RSA-OAEP-256', bits: 2048 })
  for (const [kid, alg] of [
    [await keyOf(kms), 'dir'],
    [rsa, 'RSA-OAEP-256'],
  ]) {
    for (const aad of [undefined, url(Buffer.from('context'))]) {
      // Under the bound and over it, with each length of the last group of base64.
      for (const bytes of [bulkBytes / 2, bulkBytes, bulkBytes + 1, bulkBytes + 2]) {
        const data = url(randomBytes(bytes))
        const sealed = await alice.post('/v1/crypto/encrypt', { kid, alg, enc: 'A256GCM', data, aad })
        assert.equal(sealed.status, 200, sealed.text.slice(0, 200))
        assert.deepEqual(Object.keys(sealed.json), [
          'protected',
          'encrypted_key',
          'iv',
          'ciphertext',
          'tag',
          ...(aad === undefined ? [] : ['aad']),
        ])
        assert.equal(sealed.headers['content-type'], 'application/json')
        const opened = await alice.post('/v1/crypto/decrypt', sealed.json)
        assert.deepEqual([opened.status, opened.json], [200, { kid, data }])
        const forged = await alice.post('/v1/crypto/decrypt', { ...sealed.json, tag: url(randomBytes(16)) })
        assert.deepEqual([forged.status, forged.json.error], [422, 'decryption_failed'])
      }
    }
  }
})

test('what is wrong with a large request is told as for a small one, and it is recorded', async () => {
  await using kms = await startKms()
  const [alice, mallory] = [kms.user('alice'), kms.user('mallory')]
  const kid = await keyOf(kms)
  const data = url(randomBytes(bulkBytes))
  const right = { kid, alg: 'dir', enc: 'A256GCM', data }
  const refusal = async (json: object, caller = alice) => {
    const { status, text } = await caller.post('/v1/crypto/encrypt', json)
    assert.equal(kms.audit.at(-1)?.status, status)
    return [status, text.includes(data.slice(0, 40))]
  }
  for (const [json, status] of [
    [{ ...right, data: `${data}=` }, 400],
    [{ ...right, data: `${data}*` }, 400],
    [{ ...right, data: [data] }, 400],
    [{ ...right, data: undefined, other: data }, 400],
    [{ ...right, kid: 1 }, 400],
    [[data], 400],
    [{ ...right, enc: 'A512GCM' }, 422],
    [{ ...right, kid: 'nobody' }, 404],
  ] as const)
    assert.deepEqual(await refusal(json), [status, false])
  assert.deepEqual(await refusal(right, mallory), [404, false])
  const twice = `{"data":"${data}","data":"${data}","kid":"${kid}","alg":"dir","enc":"A256GCM"}`
  assert.equal((await alice.call('POST', '/v1/crypto/encrypt', { text: twice })).status, 400)
  assert.equal((await alice.call('POST', '/v1/crypto/encrypt', { text: `{"data":"${data}` })).status, 400)
  assert.deepEqual(await refusal(right), [200, false])
})

test('a key that is destroyed while its data is on the thread gives nothing away', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const kid = await keyOf(kms)
  const body = { kid, alg: 'dir', enc: 'A256GCM', data: url(randomBytes(bulkBytes)) }
  const sealing = Array.from({ length: 4 }, () => alice.post('/v1/crypto/encrypt', body))
  assert.equal((await alice.del(`/v1/crypto/keys/${kid}`)).status, 204)
  for (const { status } of await Promise.all(sealing))
    assert.ok([200, 404, 422].includes(status), `${status}`)
  assert.equal((await alice.post('/v1/crypto/encrypt', body)).status, 404)
})

test('other callers are answered while large data is on the thread', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const kid = await keyOf(kms)
  const order: string[] = []
  const large = { kid, alg: 'dir', enc: 'A256GCM', data: url(randomBytes(4_000_000)) }
  const slow = Array.from({ length: 4 }, () =>
    alice.post('/v1/crypto/encrypt', large).then(({ status }) => order.push(`large ${status}`)),
  )
  const quick = kms
    .user('bob')
    .get('/me')
    .then(() => order.push('small'))
  await Promise.all([...slow, quick])
  assert.notEqual(order.at(-1), 'small')
})

test('too much data that waits is refused at once, and what was accepted is done', async () => {
  const thread = new BulkThread({ maxBytes: 500_000 })
  const read = (bytes: number) => {
    const body = new Uint8Array(Buffer.from(JSON.stringify({ data: url(Buffer.alloc(bytes)) })))
    return thread.run({ type: 'read', body, member: 'data' }, body)
  }
  for (let round = 0; round < 2; round++) {
    const accepted = Array.from({ length: 3 }, () => read(120_000))
    assert.throws(() => read(120_000), { kind: 'overloaded', retryAfterSeconds: 1 })
    for (const { large, value } of await Promise.all(accepted)) {
      assert.equal(large?.byteLength, 120_000)
      assert.deepEqual(value, { data: '' })
    }
    assert.equal((await read(600_000)).large?.byteLength, 600_000, 'a single one may be larger')
  }
})

test('a job that fails leaves the thread to the next one; an idle thread ends, and another one is started', async () => {
  const thread = new BulkThread({ idleMs: 1 })
  const key = createSecretKey(randomBytes(32))
  const open = () => {
    const ciphertext = new Uint8Array(10)
    const [iv, tag, additional] = [randomBytes(12), randomBytes(16), Buffer.alloc(0)]
    return thread.run({ type: 'open', key, iv, tag, additional, ciphertext, kid: 'k' }, ciphertext)
  }
  for (let round = 0; round < 2; round++) {
    const [first, second] = [open(), open()]
    await assert.rejects(first, { kind: 'decryption_failed', status: 422 })
    await assert.rejects(second, { kind: 'decryption_failed' })
    assert.equal(thread.running, true)
    while (thread.running) await new Promise((resolve) => setTimeout(resolve, 1))
  }
})
