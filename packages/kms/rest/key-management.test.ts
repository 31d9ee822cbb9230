import assert from 'node:assert/strict'
import {
  createCipheriv,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { test } from 'node:test'
import { optionalAlgorithms } from '@warder/crypto/settings'
import { concatKdf } from '@warder/crypto/testing'
import {
  FlattenedEncrypt,
  type FlattenedJWE,
  FlattenedSign,
  flattenedDecrypt,
  flattenedVerify,
  importJWK,
  type JWK,
} from 'jose'
import { startKms, startSharedKms } from '../testing/start.ts'

// The key managements beside RSA-OAEP, on the live server with all that a setting opens, and the jose library on the
// other side for all that it speaks.

const kms = await startSharedKms({ config: { jose_optional_algorithms: [...optionalAlgorithms] } })
const alice = kms.user('alice')

const b64 = (bytes: Uint8Array | string): string => Buffer.from(bytes as never).toString('base64url')
const payload = Buffer.from('attack at dawn')
const data = b64(payload)
const post = async (verb: string, body: object) => {
  const answer = await alice.post(`/v1/crypto/${verb}`, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const refused = async (verb: string, body: object, status: number, kind: string, what = '') => {
  const { status: told, json } = await alice.post(`/v1/crypto/${verb}`, body)
  assert.deepEqual([told, json.error], [status, kind], `${what} ${json.description}`)
  return String(json.description)
}
/** Without the empty `encrypted_key`, which the library wants to be absent (RFC 7516 §7.2.1). */
const forLibrary = ({ encrypted_key: wrapped, ...rest }: Record<string, string>) =>
  (wrapped === '' ? rest : { ...rest, encrypted_key: wrapped }) as unknown as FlattenedJWE
const readHeader = (jwe: { readonly protected: string }) =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString())
const withHeader = (jwe: object & { readonly protected: string }, change: object) => ({
  ...jwe,
  protected: b64(JSON.stringify({ ...readHeader(jwe), ...change })),
})
const publicJwk = async (kid: string): Promise<JWK> =>
  (await alice.get(`/v1/crypto/keys/${kid}`)).json.public_jwk

const wraps = [128, 192, 256].flatMap((bits) => [`A${bits}KW`, `A${bits}GCMKW`])
const agreements = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW']
const kems = [
  'ML-KEM-512',
  'ML-KEM-768',
  'ML-KEM-1024',
  'ML-KEM-512+A128KW',
  'ML-KEM-768+A192KW',
  'ML-KEM-1024+A256KW',
]
const encs = ['A128GCM', 'A192GCM', 'A256GCM']
const curves = ['P-256', 'P-384', 'P-521', 'X25519']
const ktyOf = (crv: string): string => (crv === 'X25519' ? 'OKP' : 'EC')

test('A*KW and A*GCMKW: the library and the service decrypt each other’s messages', async () => {
  for (const alg of wraps) {
    const k = randomBytes(Number(/\d+/.exec(alg)?.[0]) / 8)
    const { kid } = await post('keys', { kty: 'oct', alg, k: b64(k) })
    const key = createSecretKey(k)
    for (const enc of encs) {
      const ours = await post('encrypt', { kid, alg, enc, data, aad: b64('aad') })
      assert.deepEqual(Object.keys(readHeader(ours)).slice(0, 3), ['alg', 'enc', 'kid'])
      assert.equal(Buffer.from((await flattenedDecrypt(ours, key)).plaintext).toString(), payload.toString())
      const theirs = await new FlattenedEncrypt(payload)
        .setProtectedHeader({ alg, enc, kid })
        .setAdditionalAuthenticatedData(Buffer.from('aad'))
        .encrypt(key)
      assert.equal((await post('decrypt', theirs)).data, data, `${alg} ${enc}`)
    }
  }
})

test('ECDH-ES and ECDH-ES+A*KW on four curves: the library and the service decrypt each other’s messages', async () => {
  for (const crv of curves) {
    const pair =
      crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: crv })
    for (const alg of agreements) {
      const imported = await post('keys', { ...pair.privateKey.export({ format: 'jwk' }), alg })
      const made = await post('keys', { kty: ktyOf(crv), crv, alg })
      assert.equal(made.kid_public === null, false)
      const jwk = await publicJwk(made.kid_public)
      assert.deepEqual([jwk.use, jwk.alg, jwk.crv], ['enc', alg, crv])
      for (const enc of ['A128GCM', 'A256GCM']) {
        const ours = await post('encrypt', { kid: imported.kid, alg, enc, data })
        const opened = await flattenedDecrypt(forLibrary(ours), pair.privateKey)
        assert.equal(Buffer.from(opened.plaintext).toString(), payload.toString(), `${alg} ${crv}`)
        for (const kid of [made.kid, made.kid_public]) {
          const theirs = await new FlattenedEncrypt(payload)
            .setProtectedHeader({ alg, enc, kid })
            .setKeyManagementParameters({ apu: randomBytes(9), apv: randomBytes(70) })
            .encrypt(await importJWK(jwk, alg))
          assert.equal((await post('decrypt', theirs)).data, data, `${alg} ${enc} ${crv}`)
        }
      }
    }
  }
})

test('ML-KEM decrypts what it encrypted, under its own name and bound to one of its algorithms', async () => {
  for (const alg of kems) {
    const { kid, kid_public } = await post('keys', { kty: 'AKP', alg })
    const jwk = await publicJwk(kid_public)
    assert.deepEqual([jwk.kty, jwk.use, jwk.alg], ['AKP', 'enc', alg])
    const sealed = await post('encrypt', { kid: kid_public, alg, enc: 'A256GCM', data })
    assert.equal(readHeader(sealed).kid, kid)
    assert.equal(sealed.encrypted_key === '', !alg.includes('+'))
    assert.equal((await post('decrypt', sealed)).data, data)
    const { kemct } = readHeader(sealed)
    for (const wrong of [b64(randomBytes(Buffer.from(kemct, 'base64url').length)), b64('short'), ''])
      await refused('decrypt', withHeader(sealed, { kemct: wrong }), 422, 'decryption_failed', alg)
  }
})

test('ML-DSA-65 and -87 agree with the library; ES256K is available because the setting enables it', async () => {
  for (const [alg, pair, kty] of [
    ['ML-DSA-65', generateKeyPairSync('ml-dsa-65'), 'AKP'],
    ['ML-DSA-87', generateKeyPairSync('ml-dsa-87'), 'AKP'],
  ] as const) {
    const { kid } = await post('keys', { ...pair.privateKey.export({ format: 'jwk' }), alg })
    const made = await post('keys', { kty, alg })
    for (const [one, key] of [
      [kid, pair.publicKey],
      [made.kid, await importJWK(await publicJwk(made.kid_public), alg)],
    ] as [string, KeyObject][]) {
      const signed = await post('sign', { kid: one, alg, data })
      await flattenedVerify({ ...signed, payload: data }, key)
    }
    const theirs = await new FlattenedSign(payload).setProtectedHeader({ alg, kid }).sign(pair.privateKey)
    const { protected: header, signature } = theirs
    assert.equal((await post('verify', { protected: header, data, signature })).valid, true)
  }
  const { kid, kid_public } = await post('keys', { kty: 'EC', crv: 'secp256k1', alg: 'ES256K' })
  const signed = await post('sign', { kid, alg: 'ES256K', data })
  assert.equal(Buffer.from(signed.signature, 'base64url').length, 64)
  assert.equal((await post('verify', { ...signed, data })).valid, true)
  assert.equal((await post('verify', { ...signed, data: b64('other') })).valid, false)
  assert.equal((await publicJwk(kid_public)).crv, 'secp256k1')
  await refused('sign', { kid, alg: 'ES256', data }, 422, 'crypto_failure')
  await refused('keys', { kty: 'EC', crv: 'secp256k1', alg: 'ECDH-ES' }, 400, 'bad_request')
})

test('a key is used only with its bound algorithm, type and size', async () => {
  const kek = (await post('keys', { kty: 'oct', alg: 'A256KW' })).kid
  const cek = (await post('keys', { kty: 'oct', alg: 'A256GCM' })).kid
  const ec = (await post('keys', { kty: 'EC', crv: 'P-256', alg: 'ECDH-ES+A256KW' })).kid
  const signer = (await post('keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })).kid
  const free = (await post('keys', { kty: 'EC', crv: 'P-256' })).kid
  const enc = 'A256GCM'
  for (const [kid, alg] of [
    [kek, 'dir'],
    [kek, 'A256GCMKW'],
    [kek, 'A128KW'],
    [cek, 'A256KW'],
    [ec, 'ECDH-ES'],
    [ec, 'A256KW'],
    [signer, 'ECDH-ES+A256KW'],
    [free, 'ECDH-ES+A256KW'],
    [kek, 'RSA-OAEP-256'],
    [kek, 'ML-KEM-768'],
  ])
    await refused('encrypt', { kid, alg, enc, data }, 422, 'crypto_failure', `${kid} ${alg}`)
  const sealed = await post('encrypt', { kid: kek, alg: 'A256KW', enc, data })
  const direct = { ...withHeader(sealed, { alg: 'dir' }), encrypted_key: '' }
  await refused('decrypt', direct, 422, 'crypto_failure', 'a wrapping key opens no content')
  await refused('decrypt', withHeader(sealed, { alg: 'A256GCMKW' }), 422, 'crypto_failure')
  await refused('sign', { kid: ec, alg: 'ES256', data }, 422, 'crypto_failure')
  const unwrap = { protected: sealed.protected, encrypted_key: sealed.encrypted_key }
  await refused('keys/unwrap', unwrap, 422, 'unsupported_algorithm', 'unwrap is for RSA-OAEP')
})

test('a wrong encrypted_key and a wrong tag get the same response (RFC 7516 §11.5)', async () => {
  const enc = 'A128GCM'
  const keys = [
    ['A256KW', (await post('keys', { kty: 'oct', alg: 'A256KW' })).kid],
    ['A256GCMKW', (await post('keys', { kty: 'oct', alg: 'A256GCMKW' })).kid],
    ['ECDH-ES+A128KW', (await post('keys', { kty: 'EC', crv: 'P-256', alg: 'ECDH-ES+A128KW' })).kid],
  ]
  for (const [alg = '', kid] of keys) {
    const sealed = await post('encrypt', { kid, alg, enc, data })
    const wrapped = Buffer.from(sealed.encrypted_key, 'base64url')
    const sentences = new Set<string>()
    for (const wrong of [
      { tag: b64(randomBytes(16)) },
      { encrypted_key: b64(randomBytes(wrapped.length)) },
      { encrypted_key: b64(wrapped.subarray(8)) },
      { encrypted_key: b64(randomBytes(3)) },
      { encrypted_key: b64(randomBytes(4096)) },
    ])
      sentences.add(await refused('decrypt', { ...sealed, ...wrong }, 422, 'decryption_failed', alg))
    assert.equal(sentences.size, 1, alg)
    await refused('decrypt', { ...sealed, encrypted_key: '' }, 400, 'bad_request')
  }
})

test('invalid points, foreign curves, private keys and members of other types in a header are refused', async () => {
  const { kid } = await post('keys', { kty: 'EC', crv: 'P-256', alg: 'ECDH-ES' })
  const { kid: okp } = await post('keys', { kty: 'OKP', crv: 'X25519', alg: 'ECDH-ES' })
  const sealed = await post('encrypt', { kid, alg: 'ECDH-ES', enc: 'A128GCM', data })
  const { epk } = readHeader(sealed)
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' })
  for (const wrong of [
    undefined,
    null,
    'text',
    [],
    {},
    { ...epk, y: epk.x },
    { ...epk, x: b64(Buffer.alloc(32)), y: b64(Buffer.alloc(32)) },
    { ...epk, x: b64(Buffer.alloc(33, 1)) },
    { ...epk, y: undefined },
    { ...epk, crv: 'P-384' },
    { ...epk, kty: 'OKP' },
    { ...epk, d: b64(randomBytes(32)) },
    { ...epk, x: 1 },
    { ...epk, x: 'A'.repeat(5000) },
    // Of the right length, but of another curve; and a coordinate with a zero too many (RFC 7518 §6.2.1.2).
    generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' }),
    { ...epk, x: b64(Buffer.concat([Buffer.alloc(1), Buffer.from(epk.x, 'base64url')])) },
    other,
  ])
    await refused('decrypt', withHeader(sealed, { epk: wrong }), 400, 'bad_request', JSON.stringify(wrong))
  for (const [name, wrong] of [
    ['apu', 1],
    ['apv', 'a b'],
  ] as const)
    await refused('decrypt', withHeader(sealed, { [name]: wrong }), 400, 'bad_request')
  await refused('decrypt', withHeader(sealed, { apu: 'QQ' }), 422, 'decryption_failed')
  await refused('decrypt', { ...sealed, encrypted_key: 'AAAA' }, 400, 'bad_request', 'ECDH-ES has none')
  const own = await post('encrypt', { kid: okp, alg: 'ECDH-ES', enc: 'A128GCM', data })
  // RFC 7748 §6.1: points of small order give no secret.
  for (const x of [Buffer.alloc(32), Buffer.from(`01${'00'.repeat(31)}`, 'hex')]) {
    const small = { kty: 'OKP', crv: 'X25519', x: b64(x) }
    await refused('decrypt', withHeader(own, { epk: small }), 422, 'decryption_failed')
  }
  const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  await refused('decrypt', withHeader(own, { epk: ed }), 400, 'bad_request')
  const gcm = (await post('keys', { kty: 'oct', alg: 'A128GCMKW' })).kid
  const wrapped = await post('encrypt', { kid: gcm, alg: 'A128GCMKW', enc: 'A128GCM', data })
  for (const change of [{ iv: undefined }, { tag: undefined }, { iv: b64(randomBytes(11)) }, { tag: 'QQ' }])
    await refused('decrypt', withHeader(wrapped, change), 400, 'bad_request')
  await refused('decrypt', withHeader(wrapped, { tag: b64(randomBytes(16)) }), 422, 'decryption_failed')
})

test('only members of the key management may be outside of the protected header, once (RFC 7516 §7.2.1)', async () => {
  const sealedWith = (cek: Uint8Array, header: object, encryptedKey: Uint8Array) => {
    const text = b64(JSON.stringify(header))
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-128-gcm', cek, iv).setAAD(Buffer.from(text))
    const ciphertext = Buffer.concat([cipher.update(payload), cipher.final()])
    const parts = { iv: b64(iv), ciphertext: b64(ciphertext), tag: b64(cipher.getAuthTag()) }
    return { protected: text, encrypted_key: b64(encryptedKey), ...parts }
  }
  const enc = 'A128GCM'
  const k = randomBytes(16)
  const wraps = (await post('keys', { kty: 'oct', alg: 'A128GCMKW', k: b64(k) })).kid
  const [cek, iv] = [randomBytes(16), randomBytes(12)]
  const wrap = createCipheriv('aes-128-gcm', k, iv)
  const wrapped = Buffer.concat([wrap.update(cek), wrap.final()])
  const gcm = {
    jwe: sealedWith(cek, { alg: 'A128GCMKW', enc, kid: wraps }, wrapped),
    outside: { iv: b64(iv), tag: b64(wrap.getAuthTag()) },
  }
  const [bob, ephemeral] = [generateKeyPairSync('x25519'), generateKeyPairSync('x25519')]
  const agrees = (await post('keys', { ...bob.privateKey.export({ format: 'jwk' }), alg: 'ECDH-ES' })).kid
  const [partyU, partyV] = [Buffer.from('Alice'), Buffer.from('Bob')]
  const secret = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: bob.publicKey })
  const derived = concatKdf(secret, { algorithm: enc, bits: 128, partyU, partyV })
  const agreed = {
    jwe: sealedWith(derived, { alg: 'ECDH-ES', enc, kid: agrees }, Buffer.alloc(0)),
    outside: { epk: ephemeral.publicKey.export({ format: 'jwk' }), apu: b64(partyU), apv: b64(partyV) },
  }
  for (const { jwe, outside } of [gcm, agreed]) {
    for (const where of ['header', 'unprotected'])
      assert.equal((await post('decrypt', { ...jwe, [where]: { ...outside, cty: 'ignored' } })).data, data)
    assert.equal((await post('decrypt', { ...jwe, header: outside, unprotected: null })).data, data)
    await refused('decrypt', { ...jwe, header: outside, unprotected: outside }, 400, 'bad_request')
    await refused('decrypt', jwe, 400, 'bad_request')
    await refused('decrypt', { ...withHeader(jwe, outside), header: outside }, 400, 'bad_request')
    for (const name of ['alg', 'enc', 'kid', 'crit', 'zip'])
      await refused('decrypt', { ...jwe, header: { ...outside, [name]: 'dir' } }, 400, 'bad_request', name)
    for (const header of ['text', [], 1]) await refused('decrypt', { ...jwe, header }, 400, 'bad_request')
  }
  const swapped = { ...agreed.outside, apu: agreed.outside.apv, apv: agreed.outside.apu }
  await refused('decrypt', { ...agreed.jwe, header: swapped }, 422, 'decryption_failed')
  const changed = { ...gcm.outside, tag: b64(randomBytes(16)) }
  await refused('decrypt', { ...gcm.jwe, header: changed }, 422, 'decryption_failed')
})

test('a data key is returned in clear and wrapped, or only wrapped, and decrypt returns it', async () => {
  const { kid } = await post('keys', { kty: 'oct', alg: 'A256GCM' })
  const request = { kid, alg: 'dir', enc: 'A256GCM', aad: b64('table 7') }
  const both = await post('datakey', request)
  assert.deepEqual([both.kid, both.bits, Buffer.from(both.plaintext, 'base64url').length], [kid, 256, 32])
  assert.equal((await post('decrypt', both.wrapped)).data, both.plaintext)
  await refused('decrypt', { ...both.wrapped, aad: b64('table 8') }, 422, 'decryption_failed')
  const alone = await post('datakey', { ...request, plaintext: false, bits: 512 })
  assert.deepEqual([alone.bits, alone.plaintext], [512, undefined])
  assert.equal(Buffer.from((await post('decrypt', alone.wrapped)).data, 'base64url').length, 64)
  assert.notEqual((await post('datakey', request)).plaintext, both.plaintext)
  const wrapping = (await post('keys', { kty: 'oct', alg: 'A256GCMKW' })).kid
  const viaWrap = await post('datakey', { kid: wrapping, alg: 'A256GCMKW', enc: 'A256GCM' })
  assert.equal((await post('decrypt', viaWrap.wrapped)).data, viaWrap.plaintext)
  const batch = await post('batch', { operations: [{ op: 'datakey', ...request, plaintext: false }] })
  assert.equal(batch.results[0].status, 200)
  for (const bits of [0, 64, 257, 100_000]) await refused('datakey', { ...request, bits }, 400, 'bad_request')
  await refused('datakey', { ...request, alg: 'ABE' }, 400, 'bad_request')
  await refused('datakey', { ...request, kid: 'nobody' }, 404, 'not_found')
  const bob = kms.user('bob')
  assert.equal((await bob.post('/v1/crypto/datakey', request)).status, 404)
  const granted = { unique_identifier: kid, user_id: 'bob', operation_types: ['decrypt'] }
  await alice.post('/access/grant', granted)
  assert.equal((await bob.post('/v1/crypto/datakey', request)).status, 403)
  const record = kms.audit.findLast(({ operation }) => operation === 'crypto.datakey')
  assert.deepEqual([record?.object, record?.outcome], [kid, 'failure'])
  assert.doesNotMatch(JSON.stringify([kms.audit, kms.log]), new RegExp(both.plaintext))
})

test('without the setting the algorithms are unsupported, and FIPS mode has only approved ones', async () => {
  await using strict = await startKms({
    config: { fips: true, jose_optional_algorithms: ['ECDH-ES', 'ES256K'] },
  })
  const olga = strict.user('olga')
  for (const body of [
    { kty: 'OKP', crv: 'X25519', alg: 'ECDH-ES' },
    { kty: 'AKP', alg: 'ML-DSA-65' },
    { kty: 'AKP', alg: 'ML-KEM-768' },
    { kty: 'EC', crv: 'secp256k1', alg: 'ES256K' },
    { kty: 'oct', alg: 'A128KW' },
  ])
    assert.equal((await olga.post('/v1/crypto/keys', body)).status, 422, JSON.stringify(body))
  assert.equal((await olga.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ECDH-ES' })).status, 200)
  await using plain = await startKms()
  const answer = await plain.user('olga').post('/v1/crypto/keys', { kty: 'EC', crv: 'secp256k1' })
  assert.deepEqual([answer.status, answer.json.error], [400, 'bad_request'])
})
