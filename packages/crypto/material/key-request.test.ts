import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { generateKey } from './generate-key.ts'
import { type KeyRequest, toKeySpec } from './key-request.ts'

const open = { fips: false }
const fips = { fips: true }
const secrets = { A128GCM: 128, A192GCM: 192, A256GCM: 256, HS256: 256, HS384: 384, HS512: 512 } as const
const rsaNames = ['RSA-OAEP', 'RSA-OAEP-256', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const

/** Every valid request, with its meaning, and whether FIPS mode permits it. */
const table: readonly (readonly [KeyRequest, object, fips: boolean])[] = [
  ...Object.entries(secrets).map(
    ([alg, bits]) =>
      [{ kty: 'oct', alg }, { algorithm: alg.startsWith('A') ? 'AES' : 'HMAC', alg, bits }, true] as const,
  ),
  ...[...rsaNames, undefined].map(
    (alg) => [{ kty: 'RSA', alg }, { algorithm: 'RSA', alg, bits: 2048 }, true] as const,
  ),
  [{ kty: 'RSA', bits: 4096 }, { algorithm: 'RSA', alg: undefined, bits: 4096 }, true],
  ...Object.entries(curves).flatMap(([alg, crv]) => [
    [{ kty: 'EC', alg, crv }, { algorithm: 'EC', alg, curve: crv }, true] as const,
    [{ kty: 'EC', crv }, { algorithm: 'EC', alg: undefined, curve: crv }, true] as const,
  ]),
  [{ kty: 'OKP' }, { algorithm: 'Ed25519', alg: undefined }, false],
  [{ kty: 'OKP', alg: 'EdDSA', crv: 'Ed25519' }, { algorithm: 'Ed25519', alg: 'EdDSA' }, false],
  [{ kty: 'OKP', crv: 'Ed25519' }, { algorithm: 'Ed25519', alg: undefined }, false],
  [{ kty: 'OKP', alg: 'MLDSA44' }, { algorithm: 'ML-DSA-44', alg: 'MLDSA44' }, false],
  [{ kty: 'OKP', alg: 'ML-DSA-44' }, { algorithm: 'ML-DSA-44', alg: 'MLDSA44' }, false],
  [{ kty: 'AKP', alg: 'MLDSA44' }, { algorithm: 'ML-DSA-44', alg: 'MLDSA44' }, false],
  [{ kty: 'AKP', alg: 'ML-DSA-44', crv: 'ML-DSA-44' }, { algorithm: 'ML-DSA-44', alg: 'MLDSA44' }, false],
  [{ kty: 'AKP' }, { algorithm: 'ML-DSA-44', alg: undefined }, false],
]

test('each valid request is accepted; FIPS mode refuses only OKP, EdDSA and ML-DSA', () => {
  for (const [request, meaning, permitted] of table) {
    assert.deepEqual(toKeySpec(request, open), meaning)
    if (permitted) assert.deepEqual(toKeySpec(request, fips), meaning)
    else assert.throws(() => toKeySpec(request, fips), { kind: 'unsupported_algorithm', status: 422 })
  }
})

test('in FIPS mode a name that is not approved is unknown with any kty', () => {
  for (const kty of ['oct', 'RSA', 'EC'])
    for (const alg of ['EdDSA', 'MLDSA44', 'ML-DSA-44'])
      assert.throws(() => toKeySpec({ kty, alg, crv: 'P-256' }, fips), { kind: 'unsupported_algorithm' })
})

test('every algorithm with the kty of another is refused', () => {
  const right = new Set(table.map(([{ kty, alg }]) => `${kty} ${alg}`))
  const names = table.map(([{ alg }]) => alg).filter((alg) => alg !== undefined)
  for (const kty of ['oct', 'RSA', 'EC', 'OKP', 'AKP']) {
    for (const alg of names) {
      if (right.has(`${kty} ${alg}`) || alg === 'ML-DSA-44') continue
      for (const crv of [undefined, 'P-256', 'Ed25519'])
        assert.throws(() => toKeySpec({ kty, alg, crv }, open), { kind: 'bad_request' }, `${kty} ${alg}`)
    }
  }
})

test('an EC key names its curve, and the curve of its algorithm', () => {
  for (const [alg, own] of Object.entries(curves)) {
    assert.throws(() => toKeySpec({ kty: 'EC', alg }, open), { kind: 'bad_request', message: /crv/ })
    for (const crv of Object.values(curves))
      if (crv !== own)
        assert.throws(() => toKeySpec({ kty: 'EC', alg, crv }, open), { kind: 'bad_request', message: /crv/ })
  }
  for (const crv of ['secp256k1', 'P-192', 'P-224', 'p-256', 'Ed25519', '', '__proto__', 'constructor'])
    assert.throws(() => toKeySpec({ kty: 'EC', crv }, open), { kind: 'bad_request', message: /crv/ })
  for (const crv of ['Ed448', 'X448', 'P-256'])
    assert.throws(() => toKeySpec({ kty: 'OKP', crv }, open), { kind: 'bad_request', message: /crv/ })
  for (const kty of ['OKP', 'AKP'])
    assert.throws(() => toKeySpec({ kty, alg: 'MLDSA44', crv: 'Ed25519' }, open), {
      kind: 'bad_request',
      message: /crv/,
    })
})

test('names that are not in the table are unsupported, dir and a missing alg of oct are bad requests', () => {
  for (const alg of [
    'none',
    'A128KW',
    'A128CBC-HS256',
    'ES256K',
    'RSA1_5',
    'hs256',
    'HS256 ',
    '',
    '__proto__',
    'toString',
    'x'.repeat(10_000),
  ])
    for (const kty of ['oct', 'RSA', 'EC', 'OKP'])
      assert.throws(
        () => toKeySpec({ kty, alg }, open),
        (error: Error & { kind?: string }) =>
          error.kind === 'unsupported_algorithm' && error.message.length < 150,
      )
  assert.throws(() => toKeySpec({ kty: 'oct', alg: 'dir' }, open), { kind: 'bad_request' })
  assert.throws(() => toKeySpec({ kty: 'oct' }, open), { kind: 'bad_request', message: /alg/ })
  assert.throws(() => toKeySpec({ kty: 'oct', bits: 256 }, open), { kind: 'bad_request', message: /alg/ })
  for (const kty of ['', 'rsa', 'OCT', '__proto__', 'constructor'])
    assert.throws(() => toKeySpec({ kty }, open), { kind: 'bad_request', message: /kty/ })
})

test('property: any request throws only the two kinds of errors', () => {
  const word = fc.oneof(
    fc.constantFrom('oct', 'RSA', 'EC', 'OKP', 'AKP', 'ES256', 'MLDSA44', 'P-256', 'A128GCM'),
    fc.string(),
  )
  fc.assert(
    fc.property(
      fc.record({
        kty: word,
        alg: fc.option(word, { nil: undefined }),
        crv: fc.option(word, { nil: undefined }),
        bits: fc.option(fc.integer(), { nil: undefined }),
      }),
      fc.boolean(),
      (request, strict) => {
        try {
          toKeySpec(request, { fips: strict })
        } catch (error) {
          assert.ok(['bad_request', 'unsupported_algorithm'].includes((error as { kind: string }).kind))
        }
      },
    ),
  )
})

test('RSA keys are generated from 2048 to 8192 bits in whole bytes, and in no other size', async () => {
  for (const bits of [
    0,
    -1,
    512,
    1024,
    2047,
    2049,
    8193,
    8200,
    16_384,
    2048.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])
    await assert.rejects(generateKey({ algorithm: 'RSA', alg: undefined, bits }), { kind: 'bad_request' })
  const made = await generateKey({ algorithm: 'RSA', alg: undefined, bits: 2056 })
  assert.ok('private' in made)
  assert.equal(made.private.key.asymmetricKeyDetails?.modulusLength, 2056)
  assert.equal(made.private.key.asymmetricKeyDetails?.publicExponent, 65537n)
})

test('generated keys match the table', async () => {
  for (const [request, meaning] of table) {
    // RSA pairs take their time: the one that is named here is enough.
    if (request.kty === 'RSA' && request.alg !== 'RS256') continue
    const made = await generateKey(toKeySpec(request, open))
    const material = 'secret' in made ? made.secret : made.private
    const { algorithm, bits, curve } = { bits: undefined, curve: undefined, ...meaning } as never
    assert.equal(material.algorithm, algorithm)
    assert.equal(material.curve, curve)
    if (bits !== undefined) assert.equal(material.bits, bits)
    if ('secret' in made) assert.equal(made.secret.key.symmetricKeySize, material.bits / 8)
    else assert.equal(made.public.bits, made.private.bits)
  }
})
