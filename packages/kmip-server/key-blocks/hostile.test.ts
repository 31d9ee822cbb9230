import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { KeyFormat } from '@warder/keys'
import {
  byteString,
  Enumeration,
  enumeration,
  integer,
  KmipDecodeError,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { derInteger, derMembers, derSequence, parsePkcs8 } from '@warder/pki'
import { der, derNumber } from '@warder/pki/testing'
import fc from 'fast-check'
import { KmipFailure } from '../failure/failure.ts'
import { keyNode, number } from './fixtures/nodes.ts'
import { blM9Rsa, blM13Dsa } from './fixtures/oasis-keys.ts'
import { readManagedObject } from './read-object.ts'

const policy = { fips: false }
type Type = 'SymmetricKey' | 'PrivateKey' | 'PublicKey'

function refused(
  type: Type,
  format: KeyFormat,
  material: Uint8Array | readonly TtlvNode[],
  ...more: readonly TtlvNode[]
): Promise<void> {
  return assert.rejects(readManagedObject(type, keyNode(type, format, material, ...more), {}, policy), {
    code: 'InvalidField',
  })
}

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const samples: readonly (readonly [Type, KeyFormat, Buffer])[] = [
  ['PrivateKey', 'PKCS_8', ec.privateKey.export({ format: 'der', type: 'pkcs8' })],
  ['PrivateKey', 'ECPrivateKey', ec.privateKey.export({ format: 'der', type: 'sec1' })],
  ['PublicKey', 'X_509', ec.publicKey.export({ format: 'der', type: 'spki' })],
  ['PrivateKey', 'PKCS_1', rsa.privateKey.export({ format: 'der', type: 'pkcs1' })],
  ['PublicKey', 'PKCS_1', rsa.publicKey.export({ format: 'der', type: 'pkcs1' })],
  ['PublicKey', 'X_509', rsa.publicKey.export({ format: 'der', type: 'spki' })],
]

test('property: modified, truncated and extended keys are refused with a reason or are valid keys', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...samples),
      fc.nat(),
      fc.nat(255),
      fc.constantFrom('flip', 'cut', 'grow'),
      async ([type, format, whole], at, byte, how) => {
        const place = at % whole.length
        const bytes =
          how === 'cut'
            ? whole.subarray(0, place)
            : how === 'grow'
              ? Buffer.concat([whole, Buffer.from([byte])])
              : Buffer.from(whole)
        if (how === 'flip') bytes[place] = byte
        try {
          await readManagedObject(type, keyNode(type, format, bytes), {}, policy)
          assert.notEqual(how, 'grow', 'bytes behind a key')
          assert.notEqual(how, 'cut', 'a key that ends early')
        } catch (error) {
          assert.ok(error instanceof KmipFailure || error instanceof KmipDecodeError, String(error))
          if (error instanceof KmipFailure) assert.equal(error.code, 'InvalidField')
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('a claimed length allocates no memory: four gigabytes in six bytes', async () => {
  for (const head of ['3084ffffffff', '30847fffffff02', '0284ffffffff00'])
    await refused('PrivateKey', 'PKCS_8', Buffer.from(head, 'hex'))
  const many = derSequence(...Array.from({ length: 5000 }, () => derNumber(1)))
  await refused('PrivateKey', 'PKCS_1', many)
})

test('non-canonical DER is refused', async () => {
  const [type, format, whole] = samples[2] as (typeof samples)[number]
  const inner = derMembers(whole, 'the key').map((element) => Buffer.from(element.whole))
  const body = Buffer.concat(inner)
  await refused(type, format, Buffer.concat([Buffer.from([0x30, 0x80]), body, Buffer.alloc(2)]))
  await refused(type, format, Buffer.concat([Buffer.from([0x30, 0x82, 0, body.length]), body]))
})

test('inconsistent members of an RSA key are refused, whichever is wrong', async () => {
  for (const index of blM9Rsa.keys()) {
    const changed = blM9Rsa.map((node, place) => {
      if (place !== index || node.type !== 'BigInteger') return node
      const value = Uint8Array.from(node.value)
      value[value.length - 1] = (value.at(-1) ?? 0) ^ 2
      return { ...node, value }
    })
    await refused('PrivateKey', 'TransparentRSAPrivateKey', changed)
  }
  const negative = blM9Rsa.map((node) => (node.tag === Tag.Modulus ? number('Modulus', 'ff00') : node))
  await assert.rejects(
    readManagedObject('PrivateKey', keyNode('PrivateKey', 'TransparentRSAPrivateKey', negative), {}, policy),
    KmipDecodeError,
  )
  const huge = number('Modulus', `00${'ff'.repeat(1_000_000)}`)
  await refused('PrivateKey', 'TransparentRSAPrivateKey', [huge, ...blM9Rsa.slice(1)])
})

test('composite numbers instead of primes are refused', async () => {
  // 1024 bits: p and q are products of the primes of two other keys.
  const primes = [0, 1].map(() => {
    const key = generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey.export({ format: 'jwk' })
    return [key.p, key.q].map((part) => BigInt(`0x${Buffer.from(`${part}`, 'base64url').toString('hex')}`))
  })
  const [p, q] = primes.map(([one = 0n, two = 0n]) => one * two)
  assert.ok(p !== undefined && q !== undefined)
  const hex = (value: bigint) => `00${value.toString(16).padStart(256, '0')}`
  await assert.rejects(
    readManagedObject(
      'PrivateKey',
      keyNode('PrivateKey', 'TransparentRSAPrivateKey', [
        number('Modulus', hex(p * q)),
        number('PublicExponent', '010001'),
        number('P', hex(p)),
        number('Q', hex(q)),
      ]),
      {},
      policy,
    ),
    (error: unknown) => error instanceof KmipFailure && error.code === 'InvalidField',
  )
})

test('points that are not on the curve and scalars out of range are refused', async () => {
  const curve = enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256)
  const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
  for (const d of ['00', `00${order}`, `00${'ff'.repeat(33)}`])
    await refused('PrivateKey', 'TransparentECPrivateKey', [curve, number('D', d)])
  for (const point of [
    Buffer.alloc(65, 4),
    Buffer.alloc(1),
    Buffer.alloc(0),
    randomBytes(64),
    Buffer.concat([Buffer.from([2]), Buffer.alloc(32, 0xff)]),
  ])
    await refused('PublicKey', 'TransparentECPublicKey', [curve, byteString(Tag.QString, point)])
  const unknown = enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.SECP112R1)
  await refused('PrivateKey', 'TransparentECPrivateKey', [unknown, number('D', '01')])
})

test('an EC key with the public point of another key, or with explicit curve parameters, is refused', async () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sec1 = Buffer.from(ec.privateKey.export({ format: 'der', type: 'sec1' }))
  const theirs = Buffer.from(other.privateKey.export({ format: 'der', type: 'sec1' }))
  theirs.copy(sec1, sec1.length - 64, theirs.length - 64)
  await refused('PrivateKey', 'ECPrivateKey', sec1)
  const explicit = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' })
  await refused('PrivateKey', 'PKCS_8', explicit.privateKey.export({ format: 'der', type: 'pkcs8' }))
})

test('DSA numbers that contradict each other are refused', async () => {
  for (const [index, value] of [
    [0, '09'],
    [1, '09'],
    [2, '01'],
    [3, '00'],
    [3, '00962eddcc369cba8ebb260ee6b6a126d9346e38c5'],
  ] as const) {
    const changed = blM13Dsa.map((node, place) =>
      place === index ? { ...node, value: Buffer.from(value, 'hex') } : node,
    ) as readonly TtlvNode[]
    await refused('PrivateKey', 'TransparentDSAPrivateKey', changed)
  }
})

test('a key of another type, size or algorithm than its block says is refused', async () => {
  const length = (bits: number) => integer(Tag.CryptographicLength, bits)
  const named = (name: keyof typeof Enumeration.CryptographicAlgorithm) =>
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm[name])
  const [type, format, bytes] = samples[0] as (typeof samples)[number]
  await refused(type, format, bytes, length(384))
  await refused(type, format, bytes, named('RSA'))
  await refused('SymmetricKey', 'Raw', randomBytes(17), named('AES'))
  await refused('SymmetricKey', 'Raw', randomBytes(16), named('DES3'), length(168))
  await refused('SymmetricKey', 'Raw', Buffer.alloc(0))
  await refused('SymmetricKey', 'Raw', Buffer.alloc(5000))
  await assert.rejects(readManagedObject(type, keyNode(type, format, bytes), { curve: 'P_384' }, policy), {
    code: 'InvalidField',
  })
})

test('FIPS mode refuses short keys and keys of algorithms that are not approved', async () => {
  const fips = { fips: true }
  const short = keyNode('PrivateKey', 'TransparentRSAPrivateKey', blM9Rsa)
  await assert.rejects(readManagedObject('PrivateKey', short, {}, fips), { code: 'InvalidField' })
  const { privateKey } = generateKeyPairSync('ed25519')
  const edwards = keyNode('PrivateKey', 'PKCS_8', privateKey.export({ format: 'der', type: 'pkcs8' }))
  await assert.rejects(readManagedObject('PrivateKey', edwards, {}, fips), { code: 'InvalidField' })
  const [type, format, bytes] = samples[0] as (typeof samples)[number]
  await readManagedObject(type, keyNode(type, format, bytes), {}, fips)
})

test('an encrypted PKCS#8 key and an RSA key of three primes are refused with the reason', async () => {
  const encrypted = ec.privateKey.export({
    format: 'der',
    type: 'pkcs8',
    cipher: 'aes-256-cbc',
    passphrase: 'p',
  })
  assert.throws(() => parsePkcs8(encrypted), /encrypted/)
  const numbers = Array.from({ length: 8 }, () => derInteger(Buffer.from([9])))
  const multi = derSequence(derNumber(1), ...numbers, derSequence(der(0x30)))
  await assert.rejects(readManagedObject('PrivateKey', keyNode('PrivateKey', 'PKCS_1', multi), {}, policy), {
    message: /two primes/,
  })
})

test('a key block with missing or repeated members is refused', async () => {
  const value = structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, randomBytes(16))])
  const format = enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw)
  for (const members of [
    [format, value, value],
    [format, structure(Tag.KeyValue, [])],
    [format, structure(Tag.KeyValue, [...value.value, ...value.value])],
    [value],
    [format, integer(Tag.KeyValue, 1)],
  ])
    await assert.rejects(
      readManagedObject(
        'SymmetricKey',
        structure(Tag.SymmetricKey, [structure(Tag.KeyBlock, members)]),
        {},
        policy,
      ),
      { code: 'InvalidField' },
    )
})
