import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { findRefusal } from '@warder/crypto'
import { algorithmPolicy } from '@warder/crypto/settings'
import type { Answer } from '../testing/client.ts'
import { startKms } from '../testing/start.ts'

const data = Buffer.from('attack at dawn').toString('base64url')
const outcome = ({ status, json }: Answer) => [status, json?.error]
const unsupported = [422, 'unsupported_algorithm']

type Jwk = Readonly<Record<string, string>>
/** Given: creating a pair for each policy takes too long. */
const [rsa2048, rsa3072] = [2048, 3072].map((modulusLength) =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ format: 'jwk' }),
) as [Jwk, Jwk]

/** Key requests, each with a description. */
const requests: Readonly<Record<string, object>> = {
  'AES 128': { kty: 'oct', alg: 'A128GCM' },
  'AES 256': { kty: 'oct', alg: 'A256GCM' },
  'HMAC SHA-256': { kty: 'oct', alg: 'HS256' },
  'HMAC SHA-512': { kty: 'oct', alg: 'HS512' },
  'RSA 2048': rsa2048,
  'RSA 2048, new': { kty: 'RSA' },
  'RSA 3072': rsa3072,
  'RSA 3072 RS256': { ...rsa3072, alg: 'RS256' },
  'RSA 3072 PS256': { ...rsa3072, alg: 'PS256' },
  'RSA 3072 OAEP SHA-1': { ...rsa3072, alg: 'RSA-OAEP' },
  'RSA 3072 OAEP SHA-256': { ...rsa3072, alg: 'RSA-OAEP-256' },
  'P-256': { kty: 'EC', crv: 'P-256' },
  'P-384': { kty: 'EC', crv: 'P-384', alg: 'ES384' },
  Ed25519: { kty: 'OKP' },
  'ML-DSA-44': { kty: 'AKP', alg: 'ML-DSA-44' },
}

/** If everything is permitted, a key for each algorithm of RSA shows no more than one for all of them. */
const fewer = (name: string): boolean => !name.startsWith('RSA 3072 ')

async function refusedBy(config: object, asked = (_name: string) => true): Promise<readonly string[]> {
  await using kms = await startKms({ config })
  const alice = kms.user('alice')
  const refused: string[] = []
  for (const [name, body] of Object.entries(requests)) {
    if (!asked(name)) continue
    const made = await alice.post('/v1/crypto/keys', body)
    if (made.status === 200) continue
    assert.deepEqual(outcome(made), unsupported, `${name} ${made.text}`)
    refused.push(name)
    // A new one like it is refused as well.
    if (body === rsa3072)
      assert.deepEqual(outcome(await alice.post('/v1/crypto/keys', { kty: 'RSA', bits: 3072 })), unsupported)
  }
  return refused
}

test('without a policy every supported key can be created', async () => {
  assert.deepEqual(await refusedBy({}, fewer), [])
})

test('the recommended policy refuses short RSA keys, PKCS#1 v1.5 and SHA-1', async () => {
  assert.deepEqual(await refusedBy({ 'kmip.policy_id': 'DEFAULT' }), [
    'RSA 2048',
    'RSA 2048, new',
    'RSA 3072 RS256',
    'RSA 3072 OAEP SHA-1',
  ])
})

test('configured lists: algorithms that are not listed are refused, an empty list permits none, a star all', async () => {
  const custom = { 'kmip.policy_id': 'CUSTOM' } as const
  assert.deepEqual(
    await refusedBy({
      ...custom,
      'kmip.allowlists.algorithms': ['aes', 'ECDSA', 'hmac-sha256'],
      'kmip.allowlists.aes_key_sizes': ['256'],
      'kmip.allowlists.curves': ['P_256'],
    }),
    Object.keys(requests).filter((name) => !['AES 256', 'HMAC SHA-256', 'P-256'].includes(name)),
  )
  assert.deepEqual(await refusedBy({ ...custom, 'kmip.allowlists.algorithms': [] }), Object.keys(requests))
  assert.deepEqual(await refusedBy({ ...custom, 'kmip.allowlists.algorithms': ['AES', '*'] }, fewer), [])
})

test('FIPS mode refuses only algorithms that are not approved', async () => {
  assert.deepEqual(await refusedBy({ fips: true }, fewer), ['Ed25519', 'ML-DSA-44'])
})

test('keys from before the policy can be read and destroyed, and every verb refuses to use them', async () => {
  await using before = await startKms()
  const alice = before.user('alice')
  const make = async (body: object) => (await alice.post('/v1/crypto/keys', body)).json
  const rsa = await make({ kty: 'RSA' })
  const aes = await make({ kty: 'oct', alg: 'A128GCM' })
  const hmac = await make({ kty: 'oct', alg: 'HS256' })
  const ed = await make({ kty: 'OKP' })
  const sealed = (await alice.post('/v1/crypto/encrypt', { kid: aes.kid, alg: 'dir', enc: 'A128GCM', data }))
    .json
  const wrapped = (
    await alice.post('/v1/crypto/encrypt', { kid: rsa.kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data })
  ).json
  const signed = (await alice.post('/v1/crypto/sign', { kid: rsa.kid, alg: 'PS256', data })).json
  const signedRs = (await alice.post('/v1/crypto/sign', { kid: rsa.kid, alg: 'RS256', data })).json
  const signedEd = (await alice.post('/v1/crypto/sign', { kid: ed.kid, alg: 'EdDSA', data })).json

  const { db, seal } = before.environment
  await using after = await startKms({
    db,
    seal,
    config: {
      'kmip.policy_id': 'CUSTOM',
      fips: true,
      'kmip.allowlists.rsa_key_sizes': ['3072'],
      'kmip.allowlists.aes_key_sizes': ['256'],
      'kmip.allowlists.padding_methods': ['OAEP', 'PSS'],
      'kmip.allowlists.hashes': ['SHA-256'],
      'kmip.allowlists.mgf_hashes': ['SHA-256'],
    },
  })
  const now = after.user('alice')
  const post = async (verb: string, body: object) => outcome(await now.post(`/v1/crypto/${verb}`, body))
  const notThisKey = [422, 'crypto_failure']
  assert.deepEqual(await post('decrypt', sealed), unsupported)
  assert.deepEqual(await post('encrypt', { kid: aes.kid, alg: 'dir', enc: 'A128GCM', data }), unsupported)
  assert.deepEqual(await post('encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data }), notThisKey)
  assert.deepEqual(await post('decrypt', wrapped), notThisKey)
  assert.deepEqual(
    await post('keys/unwrap', { protected: wrapped.protected, encrypted_key: wrapped.encrypted_key }),
    notThisKey,
  )
  assert.deepEqual(
    await post('encrypt', { kid: rsa.kid, alg: 'RSA-OAEP', enc: 'A256GCM', data }),
    unsupported,
  )
  assert.deepEqual(await post('sign', { kid: rsa.kid, alg: 'PS256', data }), notThisKey)
  assert.deepEqual(await post('sign', { kid: rsa.kid, alg: 'RS256', data }), unsupported)
  assert.deepEqual(await post('verify', { ...signed, data }), notThisKey)
  assert.deepEqual(await post('verify', { ...signedRs, data }), unsupported)
  assert.deepEqual(await post('verify', { ...signedEd, data }), unsupported)
  assert.deepEqual(await post('mac', { kid: hmac.kid, alg: 'HS512', data }), unsupported)
  assert.equal((await now.post('/v1/crypto/mac', { kid: hmac.kid, alg: 'HS256', data })).status, 200)
  // An import is judged by the size that it has, whatever it says.
  assert.deepEqual(await post('keys', rsa2048), unsupported)
  assert.deepEqual(await post('keys', { ...rsa2048, bits: 3072 }), [400, 'bad_request'])
  assert.equal((await now.post('/v1/crypto/keys', rsa3072)).status, 200)
  const n = Buffer.concat([Buffer.alloc(1), Buffer.from(rsa3072.n ?? '', 'base64url')]).toString('base64url')
  assert.equal((await now.post('/v1/crypto/keys', { ...rsa3072, n })).status, 200)
  const imported = { kty: 'oct', alg: 'A128GCM', k: randomBytes(16).toString('base64url') }
  assert.deepEqual(await post('keys', imported), unsupported)
  const batch = await now.post('/v1/crypto/batch', {
    operations: [{ op: 'sign', kid: rsa.kid, alg: 'RS256', data }],
  })
  assert.equal(batch.json.results[0].error, 'unsupported_algorithm')
  for (const { kid } of [rsa, aes, ed]) {
    assert.equal((await now.get(`/v1/crypto/keys/${kid}`)).status, 200)
    assert.equal((await now.del(`/v1/crypto/keys/${kid}`)).status, 204)
  }
})

test('lists without effect prevent the start', async () => {
  for (const id of ['NONE', 'DEFAULT'] as const) {
    const config = { 'kmip.policy_id': id, 'kmip.allowlists.curves': ['P-256'] }
    await assert.rejects(
      startKms({ config }),
      /kmip\.allowlists\.curves has no effect while .* is (NONE|DEFAULT)/,
    )
  }
})

test('names of KMIP and JOSE are equivalent in any spelling; FIPS mode knows names that only KMIP has', () => {
  const lists = {
    algorithms: ['AES', 'hmac'],
    hashes: ['SHA_256'],
    signature_algorithms: ['SHA256WithRSAEncryption'],
    curves: ['*'],
    block_cipher_modes: [],
    padding_methods: ['*'],
    mgf_hashes: ['*'],
    mask_generators: ['*'],
    rsa_key_sizes: ['*'],
    aes_key_sizes: ['*'],
  }
  const policy = algorithmPolicy({ fips: false, id: 'CUSTOM', lists })
  assert.equal(findRefusal(policy, { algorithms: 'HMAC_SHA512', hashes: 'SHA-256' }), undefined)
  assert.equal(findRefusal(policy, { signature_algorithms: ['RS256', 'SHA256WithRSAEncryption'] }), undefined)
  assert.match(findRefusal(policy, { block_cipher_modes: 'CBC' }) ?? '', /block cipher mode 'CBC'/)
  assert.match(findRefusal(policy, { algorithms: 'ChaCha20' }) ?? '', /algorithm 'ChaCha20'/)
  const fips = algorithmPolicy({ fips: true, id: 'NONE', lists })
  for (const algorithms of ['ChaCha20Poly1305', 'Ed448', 'ThreeDES', '3DES', 'Covercrypt', 'ML_DSA_44'])
    assert.equal(typeof findRefusal(fips, { algorithms }), 'string', algorithms)
  assert.equal(findRefusal(fips, { algorithms: 'AES', curves: 'P_256' }), undefined)
  assert.equal(findRefusal({ fips: false }, { algorithms: 'anything' }), undefined)
})
