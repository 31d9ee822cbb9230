import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { optionalAlgorithms } from '@warder/crypto/settings'
import { maxInvocations } from '@warder/keys'
import { reserveBlock } from '@warder/keys/testing'
import { startSharedKms } from '../testing/start.ts'

// Keys that wrap, agree and encapsulate, across rotations and up to their limits.

const kms = await startSharedKms({ config: { jose_optional_algorithms: [...optionalAlgorithms] } })
const alice = kms.user('alice')

const enc = 'A256GCM'
const data = Buffer.from('attack at dawn').toString('base64url')
const post = async (verb: string, body: object) => {
  const answer = await alice.post(`/v1/crypto/${verb}`, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const refused = async (verb: string, body: object, kind: string) => {
  const { status, json } = await alice.post(`/v1/crypto/${verb}`, body)
  assert.deepEqual([status, json.error], [422, kind], json.description)
}
const readHeader = (jwe: { readonly protected: string }) =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString())
const withKid = (jwe: { readonly protected: string }, kid: string) => ({
  ...jwe,
  protected: Buffer.from(JSON.stringify({ ...readHeader(jwe), kid })).toString('base64url'),
})

for (const [name, request] of [
  ['A256KW', { kty: 'oct' }],
  ['A128GCMKW', { kty: 'oct' }],
  ['ECDH-ES', { kty: 'OKP', crv: 'X25519' }],
  ['ECDH-ES+A256KW', { kty: 'EC', crv: 'P-384' }],
  ['ML-KEM-768+A192KW', { kty: 'AKP' }],
] as const) {
  test(`${name}: the newest version encrypts, and each token is decrypted only by the version in its header`, async () => {
    const { kid, kid_public } = await post('keys', { ...request, alg: name })
    const seal = (id: string) => post('encrypt', { kid: id, alg: name, enc, data })
    const old = await seal(kid)
    const { version_kid } = await post(`keys/${kid}/rotate`, {})
    for (const id of [kid, version_kid, ...(kid_public === undefined ? [] : [kid_public])])
      assert.equal(readHeader(await seal(id)).kid, version_kid, 'by the name of any half and version')
    const fresh = await seal(kid)
    for (const jwe of [old, fresh]) assert.equal((await post('decrypt', jwe)).data, data)
    await refused('decrypt', withKid(old, version_kid), 'decryption_failed')
    await refused('decrypt', withKid(fresh, kid), 'decryption_failed')
    const renewed = await post('rewrap', old)
    assert.equal(readHeader(renewed).kid, version_kid)
    assert.equal((await post('decrypt', renewed)).data, data)
    for (const id of [kid, version_kid]) {
      const shown = await alice.get(`/v1/crypto/keys/${id}`)
      assert.equal(shown.status, 200)
      for (const secret of ['d', 'k', 'priv']) assert.equal(shown.json.public_jwk?.[secret], undefined)
    }
    const set = (await alice.get(`/v1/crypto/keys/${kid}/versions`)).text
    assert.doesNotMatch(set, /"(?:d|k|priv)"/)
  })
}

test('A*GCMKW counts against the message limit of its key (SP 800-38D §8.3), and at the limit the key still decrypts', async () => {
  const alg = 'A256GCMKW'
  const { kid } = await post('keys', { kty: 'oct', alg })
  const request = { kid, alg, enc }
  await kms.environment.db.commit([reserveBlock(kid, maxInvocations - 3)])
  const sealed = await post('encrypt', { ...request, data })
  await post('datakey', request)
  await post('rewrap', sealed)
  await refused('encrypt', { ...request, data }, 'crypto_failure')
  await refused('datakey', request, 'crypto_failure')
  await refused('rewrap', sealed, 'crypto_failure')
  assert.equal((await post('decrypt', sealed)).data, data)
  const { version_kid } = await post(`keys/${kid}/rotate`, {})
  assert.equal(readHeader(await post('encrypt', { ...request, data })).kid, version_kid)
})

test('no audit record and no log line contains a key, a content key or a plaintext', async () => {
  const k = randomBytes(32).toString('base64url')
  const { kid } = await post('keys', { kty: 'oct', alg: 'A256KW', k })
  const sealed = await post('encrypt', { kid, alg: 'A256KW', enc, data })
  await post('decrypt', sealed)
  await refused('decrypt', { ...sealed, tag: randomBytes(16).toString('base64url') }, 'decryption_failed')
  const told = JSON.stringify([kms.audit, kms.log])
  for (const secret of [k, data, sealed.encrypted_key]) assert.ok(!told.includes(secret))
  const record = kms.audit.findLast(({ operation }) => operation === 'crypto.decrypt')
  assert.deepEqual([record?.object, record?.algorithm, record?.outcome], [kid, `A256KW ${enc}`, 'failure'])
})
