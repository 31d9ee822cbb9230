import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startKms } from '../testing/start.ts'

it('null for an optional member means its absence, in every request', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const create = async (members: Record<string, unknown>): Promise<string> => {
    const material = Object.fromEntries(
      ['k', 'd', 'x', 'y', 'n', 'e', 'priv', 'pub'].map((name) => [name, null]),
    )
    const optional = { crv: null, bits: null, tags: null, ext: null, ...material }
    const answer = await alice.post('/v1/crypto/keys', { ...optional, ...members })
    assert.equal(answer.status, 200, answer.text)
    return answer.json.kid
  }
  const kid = await create({ kty: 'oct', alg: 'A256GCM' })
  await create({ kty: 'RSA', alg: null })
  const data = 'AAEC'
  const encrypted = await alice.post('/v1/crypto/encrypt', {
    kid,
    alg: 'dir',
    enc: 'A256GCM',
    data,
    aad: null,
  })
  assert.equal(encrypted.status, 200, encrypted.text)
  const opened = { ...encrypted.json, encrypted_key: null, aad: null }
  assert.deepEqual((await alice.post('/v1/crypto/decrypt', opened)).json.data, data)

  const macKey = await create({ kty: 'oct', alg: 'HS256' })
  const computed = { kid: macKey, alg: 'HS256', data, mac: null }
  const answer = await alice.post('/v1/crypto/mac', computed)
  assert.equal(typeof answer.json.mac, 'string', answer.text)
  const batch = { operations: [{ op: 'mac', ...computed }] }
  assert.equal((await alice.post('/v1/crypto/batch', batch)).json.results[0].result.mac, answer.json.mac)

  const required = await alice.post('/v1/crypto/mac', { ...computed, data: null })
  assert.equal(required.status, 400, 'a required member may not be null')
})
