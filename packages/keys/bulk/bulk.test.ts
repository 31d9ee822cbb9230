import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { contentPlan } from '@warder/crypto'
import { type Started, startKms } from '@warder/kms/testing'
import { BulkThread, bulkBytes, bulkThread } from './bulk.ts'
import type { Job } from './jobs.ts'

const aes = { kty: 'oct', alg: 'A256GCM' }
const url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const keyOf = async (kms: Started, spec: object = aes): Promise<string> =>
  (await kms.user('alice').post('/v1/crypto/keys', spec)).json.kid

test('large data is encrypted and decrypted like small data, directly and for an RSA key', async () => {
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

test('an invalid large request gets the same error as a small one, and is recorded', async () => {
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

test('a key that is destroyed while a thread encrypts its data returns no result', async (t) => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const data = url(randomBytes(bulkBytes))
  const encrypt = (kid: string) => alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  const [first, second] = [await keyOf(kms), await keyOf(kms)]
  const sealed = (await encrypt(second)).json
  const run = bulkThread.run.bind(bulkThread)
  let destroyed: string | undefined
  let done = ''
  // The thread does its whole work; before its result is looked at the key is destroyed.
  t.mock.method(bulkThread, 'run', async (job: Job, bytes: Uint8Array) => {
    const result = await run(job as never, bytes)
    if (job.type === 'read' || destroyed === undefined) return result
    done += job.type
    assert.equal((await alice.del(`/v1/crypto/keys/${destroyed}`)).status, 204)
    return result
  })
  destroyed = first
  const late = await encrypt(first)
  assert.deepEqual([late.status, late.json.error, done], [404, 'not_found', 'seal'])
  destroyed = second
  const opened = await alice.post('/v1/crypto/decrypt', sealed)
  assert.deepEqual([opened.status, opened.json.error, done], [404, 'not_found', 'sealopen'])
  assert.ok(!opened.text.includes(data.slice(0, 40)))
  assert.deepEqual(
    kms.audit.slice(-4).map(({ operation, status }) => [operation, status]),
    [
      ['crypto.keys.destroy', 204],
      ['crypto.encrypt', 404],
      ['crypto.keys.destroy', 204],
      ['crypto.decrypt', 404],
    ],
  )
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

test("data beyond the queue's bound is refused at once, and accepted data is processed", async () => {
  const thread = new BulkThread({ maxBytes: 500_000 })
  const read = (bytes: number) => {
    const body = new Uint8Array(Buffer.from(JSON.stringify({ data: url(Buffer.alloc(bytes)) })))
    return thread.run({ type: 'read', body, member: 'data' }, body)
  }
  for (let round = 0; round < 2; round++) {
    const accepted = Array.from({ length: 3 }, () => read(120_000))
    assert.throws(() => read(120_000), { kind: 'overloaded', retryAfterSeconds: 1 })
    assert.equal(thread.unfinished, 3)
    for (const { large, value } of await Promise.all(accepted)) {
      assert.equal(large?.byteLength, 120_000)
      assert.deepEqual(value, { data: '' })
    }
    assert.equal((await read(600_000)).large?.byteLength, 600_000, 'a single one may be larger')
  }
})

test('the thread continues after a failed job; an idle thread ends, and another one is started', async () => {
  const thread = new BulkThread({ idleMs: 1 })
  const key = createSecretKey(randomBytes(32))
  const open = () => {
    const ciphertext = new Uint8Array(10)
    const [iv, tag, additional] = [randomBytes(12), randomBytes(16), Buffer.alloc(0)]
    return thread.run(
      { type: 'open', key, plan: contentPlan({ bits: 256 }), iv, tag, additional, ciphertext, kid: 'k' },
      ciphertext,
    )
  }
  for (let round = 0; round < 2; round++) {
    const [first, second] = [open(), open()]
    await assert.rejects(first, { kind: 'decryption_failed', status: 422 })
    await assert.rejects(second, { kind: 'decryption_failed' })
    assert.equal(thread.running, true)
    while (thread.running) await new Promise((resolve) => setTimeout(resolve, 1))
  }
})

const readJob = (thread: BulkThread, member: string, bytes = 120_000) => {
  const body = new Uint8Array(Buffer.from(JSON.stringify({ data: url(Buffer.alloc(bytes)) })))
  return thread.run({ type: 'read', body, member }, body)
}
const untilEnded = async (thread: BulkThread) => {
  while (thread.running) await new Promise((resolve) => setTimeout(resolve, 1))
}

for (const crash of ['crash', 'crash by exit']) {
  test(`a thread that crashes fails its jobs, and the next job gets a new thread: ${crash}`, async () => {
    const thread = new BulkThread({
      maxBytes: 500_000,
      thread: new URL('./fixtures/crashing-thread.ts', import.meta.url),
    })
    assert.equal((await readJob(thread, 'data')).large?.byteLength, 120_000)
    // The second job waits behind the crash, and the reservations of both are released.
    const lost = [readJob(thread, crash), readJob(thread, 'data'), readJob(thread, 'data')]
    assert.throws(() => readJob(thread, 'data'), { kind: 'overloaded' })
    for (const { status } of await Promise.allSettled(lost)) assert.equal(status, 'rejected')
    assert.equal(thread.running, false)
    const accepted = await Promise.all([1, 2, 3].map(() => readJob(thread, 'data')))
    assert.equal(accepted.length, 3)
  })
}

test('garbage is collected once when the thread has been idle after much data, and not after little', async () => {
  let collections = 0
  const thread = new BulkThread({ idleMs: 1, collect: () => void collections++ })
  await readJob(thread, 'data')
  await untilEnded(thread)
  assert.equal(collections, 0)
  for (let round = 1; round <= 2; round++) {
    await Promise.all([readJob(thread, 'data', 13_000_000), readJob(thread, 'data', 13_000_000)])
    await untilEnded(thread)
    assert.equal(collections, round)
  }
})

test('a thread that waits for jobs keeps no process alive', async () => {
  const kept = () => process.getActiveResourcesInfo().includes('MessagePort')
  const thread = new BulkThread()
  const done = readJob(thread, 'data')
  assert.equal(kept(), true)
  await done
  assert.deepEqual([thread.running, kept()], [true, false])
})
