import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grant } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()

const data = Buffer.from('attack at dawn').toString('base64url')
const aad = Buffer.from('about it').toString('base64url')
const readKid = ({ protected: text }: { protected: string }) =>
  JSON.parse(Buffer.from(text, 'base64url').toString()).kid

for (const [alg, body] of [
  ['dir', { kty: 'oct', alg: 'A256GCM' }],
  ['RSA-OAEP-256', { kty: 'RSA', alg: 'RSA-OAEP-256' }],
] as const) {
  test(`rewrap encrypts a ciphertext of an old version (${alg}) with the newest one, for callers who cannot decrypt it`, async () => {
    const [alice, bob] = [kms.user('alice'), kms.user('bob')]
    const { kid } = (await alice.post('/v1/crypto/keys', body)).json
    const old = (await alice.post('/v1/crypto/encrypt', { kid, alg, enc: 'A256GCM', data, aad })).json
    const { version_kid } = (await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})).json
    assert.equal((await bob.post('/v1/crypto/rewrap', old)).status, 404)
    await grant(alice, kid, 'bob', 'encrypt')
    const { json: fresh, status, text } = await bob.post('/v1/crypto/rewrap', old)
    assert.equal(status, 200, text)
    assert.equal(readKid(fresh), version_kid)
    assert.deepEqual(Object.keys(fresh).toSorted(), Object.keys(old).toSorted())
    assert.ok(!text.includes(data))
    assert.equal((await bob.post('/v1/crypto/decrypt', fresh)).status, 403)
    for (const jwe of [old, fresh])
      assert.equal((await alice.post('/v1/crypto/decrypt', jwe)).json.data, data)
    const record = kms.audit.findLast(({ operation }) => operation === 'crypto.rewrap')
    assert.deepEqual([record?.principal, record?.outcome], ['bob', 'success'])
  })
}

test('rewrap refuses ciphertexts that do not decrypt, that are too old, or that the newest version may not encrypt', async () => {
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const seal = async () =>
    (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data, aad })).json
  const old = await seal()
  const same = (await alice.post('/v1/crypto/rewrap', old)).json
  assert.equal(readKid(same), kid, 'of a key that was never rotated')
  await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})
  const rewrap = (jwe: object) => alice.post('/v1/crypto/rewrap', jwe)
  assert.equal((await rewrap({ ...old, aad: undefined })).status, 422)
  assert.equal((await rewrap({ ...old, iv: '' })).status, 400)
  assert.equal((await rewrap({ ...old, encrypted_key: data })).status, 400)
  const rotation = `/v1/crypto/keys/${kid}/rotation`
  await alice.call('PUT', rotation, { json: { min_decrypt_version: 2 } })
  assert.match((await rewrap(old)).text, /min_decrypt_version/)
  await alice.call('PUT', rotation, { json: { min_decrypt_version: 1 } })
  await alice.post(`/v1/crypto/keys/${kid}/versions/2/revoke`, {})
  assert.equal((await rewrap(old)).status, 422)
})

test('a batch rewraps item by item', async () => {
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const old = (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).json
  const { version_kid } = (await alice.post(`/v1/crypto/keys/${kid}/rotate`, {})).json
  const broken = { ...old, tag: Buffer.alloc(16).toString('base64url') }
  const { json } = await alice.post('/v1/crypto/batch', {
    operations: [old, broken, old].map((jwe) => ({ op: 'rewrap', ...jwe })),
  })
  assert.deepEqual(
    json.results.map(({ status }: { status: number }) => status),
    [200, 422, 200],
  )
  assert.equal(readKid(json.results[2].result), version_kid)
})
