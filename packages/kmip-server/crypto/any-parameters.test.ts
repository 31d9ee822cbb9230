import assert from 'node:assert/strict'
import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import {
  type CryptographicParameters,
  type DerivationMethod,
  decryptSymmetric,
  deriveKey,
  encryptRsa,
  encryptSymmetric,
  planCipher,
  planMac,
  planRsa,
  planSignature,
} from '@warder/crypto'
import { computeMac, decryptRsa, signWith, verifyWith } from '@warder/crypto/testing'
import { Enumeration } from '@warder/kmip-codec'
import fc from 'fast-check'
import type { AlgorithmName } from './parameters.ts'

const policy = { fips: false }
const names = <E extends keyof typeof Enumeration>(enumeration: E) =>
  fc.constantFrom(...Object.keys(Enumeration[enumeration]))
const small = fc.oneof(fc.nat(160), fc.constantFrom(8, 12, 16, 20, 32, 64, 96, 128, 2 ** 31 - 1))

/** One to three members of any value: more would contradict each other almost always. */
const anything = fc
  .record(
    {
      blockCipherMode: names('BlockCipherMode'),
      paddingMethod: names('PaddingMethod'),
      hashingAlgorithm: names('HashingAlgorithm'),
      digitalSignatureAlgorithm: names('DigitalSignatureAlgorithm'),
      cryptographicAlgorithm: names('CryptographicAlgorithm'),
      randomIV: fc.boolean(),
      ivLength: small,
      tagLength: small,
      fixedFieldLength: small,
      invocationFieldLength: small,
      counterLength: small,
      initialCounterValue: small,
      saltLength: small,
      maskGenerator: fc.constant('MGF1'),
      maskGeneratorHashingAlgorithm: names('HashingAlgorithm'),
      pSource: fc.uint8Array({ maxLength: 20 }),
      trailerField: fc.nat(2),
    },
    { requiredKeys: [] },
  )
  .chain((all) => {
    const entries = Object.entries(all)
    if (entries.length === 0) return fc.constant({})
    return fc.subarray(entries, { maxLength: 3 }).map((some) => Object.fromEntries(some))
  }) as fc.Arbitrary<CryptographicParameters>

/** Does it, or sees that it is refused as a client may be told. */
async function orRefused<T>(act: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Failure && error.kind !== 'internal_error') return undefined
    throw error
  }
}

test('property: a cipher refuses any parameters, or decrypts what it encrypted with them', async () => {
  const algorithm = fc.constantFrom<AlgorithmName[]>(
    'AES',
    'AES',
    'AES',
    'DES3',
    'Camellia',
    'ARIA',
    'SM4',
    'ChaCha20',
    'ChaCha20Poly1305',
    'HMAC_SHA256',
  )
  const size = fc.constantFrom(16, 24, 32, 64, 20)
  const iv = fc.option(
    fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.constantFrom(8, 12, 16).map((length) => new Uint8Array(length)),
    ),
    { nil: undefined },
  )
  const aad = fc.option(fc.uint8Array({ maxLength: 10 }), { nil: undefined })
  let worked = 0
  await fc.assert(
    fc.asyncProperty(
      algorithm,
      size,
      anything,
      fc.uint8Array({ maxLength: 70 }),
      iv,
      aad,
      async (name, bytes, parameters, data, given, extra) => {
        const key = createSecretKey(Uint8Array.from({ length: bytes }, (_, at) => at))
        const made = await orRefused(() => {
          const plan = planCipher(name, bytes, parameters, policy)
          return { plan, ...encryptSymmetric(key, plan, { data, iv: given, aad: extra }) }
        })
        if (made === undefined) return
        worked += 1
        const input = { data: made.data, iv: given ?? made.iv, aad: extra, tag: made.tag }
        assert.deepEqual(decryptSymmetric(key, made.plan, input), Buffer.from(data))
        await orRefused(() => decryptSymmetric(key, made.plan, { ...input, data }))
      },
    ),
    { numRuns: 1500 },
  )
  assert.ok(worked > 20)
})

const pairs: readonly { readonly privateKey: KeyObject; readonly publicKey: KeyObject }[] = [
  generateKeyPairSync('rsa', { modulusLength: 1024 }),
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' }),
  generateKeyPairSync('ed25519'),
  generateKeyPairSync('x25519'),
  generateKeyPairSync('ml-dsa-44'),
  generateKeyPairSync('ml-kem-512' as 'ml-kem-768'),
]

test('property: a key refuses any parameters, or verifies its signature with them and no other', async () => {
  let worked = 0
  const data = fc.uint8Array({ maxLength: 70 })
  await fc.assert(
    fc.asyncProperty(
      fc.nat(pairs.length - 1),
      anything,
      data,
      fc.boolean(),
      data,
      async (index, parameters, bytes, digested, wrong) => {
        const { privateKey, publicKey } = pairs[index] as (typeof pairs)[number]
        const what = digested ? { digest: bytes } : { data: bytes }
        const length = digested ? bytes.length : undefined
        const signature = await orRefused(() =>
          signWith(privateKey, planSignature(privateKey, parameters, policy, 'sign', length), what),
        )
        const plan = await orRefused(() => planSignature(publicKey, parameters, policy, 'verify', length))
        if (plan === undefined) return
        if (signature !== undefined) {
          worked += 1
          assert.equal(verifyWith(publicKey, plan, what, signature), true)
        }
        assert.notEqual(await orRefused(() => verifyWith(publicKey, plan, what, wrong)), true)
      },
    ),
    { numRuns: 500 },
  )
  assert.ok(worked > 10)
})

test('property: RSA refuses any parameters, or decrypts what it encrypted with them', async () => {
  const { privateKey, publicKey } = pairs[0] as (typeof pairs)[number]
  await fc.assert(
    fc.asyncProperty(anything, fc.uint8Array({ maxLength: 140 }), async (parameters, data) => {
      const made = await orRefused(() => {
        const plan = planRsa(1024, parameters, policy)
        return { plan, sealed: encryptRsa(publicKey, plan, data) }
      })
      if (made === undefined) return
      assert.deepEqual(await decryptRsa(privateKey, made.plan, made.sealed), Buffer.from(data))
      await orRefused(() => decryptRsa(privateKey, made.plan, data))
    }),
    { numRuns: 300 },
  )
})

test('property: MACs and derivations with any parameters are refused or repeatable', async () => {
  const methods = fc.constantFrom(...(Object.keys(Enumeration.DerivationMethod) as DerivationMethod[]))
  const bytes = fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined })
  await fc.assert(
    fc.asyncProperty(
      methods,
      anything,
      bytes,
      bytes,
      bytes,
      fc.integer({ min: -1, max: 9000 }),
      async (method, parameters, derivationData, salt, initializationVector, length) => {
        const secret = new Uint8Array(16)
        const key = createSecretKey(secret)
        const mac = await orRefused(() => {
          const plan = planMac({ algorithm: 'AES', key }, parameters, policy)
          return { plan, made: computeMac(key, plan, derivationData ?? secret) }
        })
        if (mac !== undefined) assert.deepEqual(computeMac(key, mac.plan, derivationData ?? secret), mac.made)
        const asked = {
          method,
          secret,
          algorithm: 'AES',
          agreement: undefined,
          parameters,
          derivationData,
          salt,
          initializationVector,
          iterationCount: 2,
          length,
        } as const
        const one = await orRefused(() => deriveKey(asked, policy))
        if (one === undefined) return
        assert.equal(one.length, length)
        assert.deepEqual(await deriveKey(asked, policy), one)
      },
    ),
    { numRuns: 800 },
  )
})
