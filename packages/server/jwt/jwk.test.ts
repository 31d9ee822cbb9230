import assert from 'node:assert/strict'
import { createPublicKey, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { calculateJwkThumbprint } from 'jose'
import { getKeyAlgorithms } from './algorithms.ts'
import { ec, ed25519, rsa } from './fixtures/tokens.ts'
import { publicJwk, readKeySet, thumbprint } from './key-sets.ts'

const rsaPair = rsa()

test('the thumbprint is that of the example of RFC 7638 §3.1', () => {
  const jwk = {
    kty: 'RSA',
    n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
    e: 'AQAB',
    alg: 'RS256',
    kid: '2011-04-29',
  }
  assert.equal(thumbprint(jwk), 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
})

test('the thumbprint is that of the example of RFC 8037 appendix A.3', () => {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
  assert.equal(thumbprint(jwk), 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

test('a public key as a JWK holds nothing private and names itself by its thumbprint', async () => {
  for (const { privateKey, publicKey } of [ec(), ec('P-384'), ec('P-521'), ed25519(), rsaPair]) {
    const jwk = publicJwk(privateKey)
    assert.deepEqual(jwk, publicJwk(publicKey))
    for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi']) assert.ok(!Object.hasOwn(jwk, name))
    assert.equal(jwk.kid, await calculateJwkThumbprint({ ...jwk }))
    assert.ok(createPublicKey({ key: { ...jwk }, format: 'jwk' }).equals(publicKey))
  }
  assert.equal(publicJwk(ec('P-384').publicKey).alg, 'ES384')
  assert.equal(publicJwk(ed25519().publicKey).alg, 'EdDSA')
  assert.equal(publicJwk(rsaPair.publicKey).alg, undefined, 'an RSA key may be used with several')
})

test('no thumbprint is made for a kind of key that is not known', () => {
  for (const kty of ['oct', 'AKP', undefined, '__proto__', 'constructor'])
    assert.throws(() => thumbprint({ kty, k: 'AAAA' }), TypeError)
})

test('the algorithms follow from the type and the size of the key', () => {
  assert.deepEqual(getKeyAlgorithms(ec('P-256').publicKey), ['ES256'])
  assert.deepEqual(getKeyAlgorithms(ec('P-384').publicKey), ['ES384'])
  assert.deepEqual(getKeyAlgorithms(ec('P-521').publicKey), ['ES512'])
  assert.deepEqual(getKeyAlgorithms(ed25519().publicKey), ['EdDSA', 'Ed25519'])
  assert.deepEqual(getKeyAlgorithms(rsaPair.publicKey), [
    'RS256',
    'RS384',
    'RS512',
    'PS256',
    'PS384',
    'PS512',
  ])
  assert.deepEqual(getKeyAlgorithms(ec('secp256k1').publicKey), [])
  assert.deepEqual(getKeyAlgorithms(generateKeyPairSync('ed448').publicKey), [])
  assert.deepEqual(getKeyAlgorithms(generateKeyPairSync('x25519').publicKey), [])
  assert.deepEqual(getKeyAlgorithms(createSecretKey(Buffer.alloc(64, 1))), [])
})

test('an RSA key that is too small, too large or has a trivial exponent signs nothing', () => {
  const { n = '' } = publicJwk(rsaPair.publicKey)
  const withModulus = (modulus: string, e: string) =>
    createPublicKey({ key: { kty: 'RSA', n: modulus, e }, format: 'jwk' })
  const ofBits = (bits: number): string => Buffer.alloc(bits / 8, 0xff).toString('base64url')
  assert.notDeepEqual(getKeyAlgorithms(withModulus(n, 'AQAB')), [])
  assert.notDeepEqual(getKeyAlgorithms(withModulus(n, 'Aw')), [])
  assert.notDeepEqual(getKeyAlgorithms(withModulus(ofBits(8192), 'AQAB')), [])
  assert.deepEqual(getKeyAlgorithms(withModulus(ofBits(1024), 'AQAB')), [])
  assert.deepEqual(getKeyAlgorithms(withModulus(ofBits(8200), 'AQAB')), [])
  assert.deepEqual(getKeyAlgorithms(withModulus(n, 'AQ')), [])
  assert.deepEqual(getKeyAlgorithms(withModulus(n, ofBits(1024))), [])
})

test('of a key set only what can verify signatures is taken', () => {
  const pair = ec()
  const jwk = publicJwk(pair.publicKey)
  const { d } = pair.privateKey.export({ format: 'jwk' })
  const usable = { ...jwk, kid: 'usable' }
  const set = {
    keys: [
      usable,
      { ...jwk, kid: 'private', d },
      { ...jwk, kid: 'for encryption', use: 'enc' },
      { ...jwk, kid: 'for signing only', key_ops: ['sign'] },
      { ...jwk, kid: 'strange key_ops', key_ops: 'verify' },
      { ...jwk, kid: 'another algorithm', alg: 'ES384' },
      { ...jwk, kid: 'hmac', alg: 'HS256' },
      { ...jwk, kid: 'of another curve', alg: 'EdDSA' },
      { ...jwk, kid: 'strange alg', alg: ['ES256'] },
      { ...jwk, kid: 'not on the curve', x: jwk.y, y: jwk.x },
      { ...jwk, kid: 17 },
      { ...jwk, kid: 'k'.repeat(513) },
      { kty: 'oct', k: Buffer.alloc(32).toString('base64url'), kid: 'symmetric' },
      { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'weak' },
      { kty: 'nonsense' },
      null,
      'text',
      [],
    ],
  }
  assert.deepEqual(
    readKeySet(set).map(({ kid, algorithms }) => ({ kid, algorithms })),
    [{ kid: 'usable', algorithms: ['ES256'] }],
  )
  const narrowed = { ...publicJwk(rsaPair.publicKey), alg: 'PS256', key_ops: ['verify'] }
  assert.deepEqual(readKeySet({ keys: [narrowed] })[0]?.algorithms, ['PS256'])
})

test('keys with one kid are all kept, and fifty keys of a set, what cannot verify aside', () => {
  const jwk = { ...publicJwk(ec().publicKey), kid: 'same' }
  assert.equal(readKeySet({ keys: [jwk, jwk] }).length, 2)
  assert.equal(readKeySet({ keys: Array.from({ length: 51 }, () => jwk) }).length, 50)
  const others = (length: number) => Array.from({ length }, () => ({ ...jwk, use: 'enc' }))
  assert.equal(readKeySet({ keys: [...others(60), jwk] }).length, 1)
  assert.equal(readKeySet({ keys: [...others(500), jwk] }).length, 0)
})

test('keys of a SPIFFE bundle say their use in words of their own', () => {
  const jwk = publicJwk(ec().publicKey)
  const bundle = {
    keys: [
      { ...jwk, kid: 'svid', use: 'jwt-svid' },
      { ...jwk, use: 'x509-svid' },
    ],
  }
  assert.deepEqual(
    readKeySet(bundle).map(({ kid }) => kid),
    ['svid'],
  )
})

test('what is no key set is refused', () => {
  for (const set of [undefined, null, 'keys', [], {}, { keys: {} }, { keys: null }])
    assert.throws(() => readKeySet(set), TypeError)
})
