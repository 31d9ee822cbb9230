import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  Enumeration,
  encodeTtlv,
  enumeration,
  integer,
  KmipDecodeError,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import fc from 'fast-check'
import { KmipFailure } from '../failure/failure.ts'
import { digestAttributes } from './digest.ts'
import { keyNode, number } from './fixtures/nodes.ts'
import { blM9Rsa, blM13Dsa } from './fixtures/oasis-keys.ts'
import { readManagedObject } from './read-object.ts'
import type { KmipObjectType } from './stored-shape.ts'
import { writeManagedObject } from './write-object.ts'

const policy = { fips: false }
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const raw = enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw)

const wrapped = structure(Tag.SymmetricKey, [
  structure(Tag.KeyBlock, [
    raw,
    byteString(Tag.KeyValue, Buffer.alloc(40, 1)),
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
    integer(Tag.CryptographicLength, 256),
    structure(Tag.KeyWrappingData, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
      structure(Tag.EncryptionKeyInformation, [textString(Tag.UniqueIdentifier, 'kek')]),
      byteString(Tag.IVCounterNonce, Buffer.alloc(12)),
    ]),
  ]),
])

const samples: readonly (readonly [KmipObjectType, StructureNode])[] = [
  [
    'SymmetricKey',
    keyNode('SymmetricKey', 'TransparentSymmetricKey', [byteString(Tag.Key, Buffer.alloc(32, 3))]),
  ],
  ['SymmetricKey', wrapped],
  ['PrivateKey', keyNode('PrivateKey', 'TransparentRSAPrivateKey', blM9Rsa)],
  ['PrivateKey', keyNode('PrivateKey', 'TransparentDSAPrivateKey', blM13Dsa)],
  ['PrivateKey', keyNode('PrivateKey', 'PKCS_8', ec.export({ format: 'der', type: 'pkcs8' }))],
  [
    'PrivateKey',
    keyNode('PrivateKey', 'TransparentECPrivateKey', [
      enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
      number('D', '05'),
    ]),
  ],
  [
    'SecretData',
    structure(Tag.SecretData, [
      enumeration(Tag.SecretDataType, Enumeration.SecretDataType.Password),
      structure(Tag.KeyBlock, [
        raw,
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, Buffer.from('p'))]),
      ]),
    ]),
  ],
  [
    'SplitKey',
    structure(Tag.SplitKey, [
      integer(Tag.SplitKeyParts, 3),
      integer(Tag.KeyPartIdentifier, 1),
      integer(Tag.SplitKeyThreshold, 2),
      enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
      structure(Tag.KeyBlock, [
        raw,
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, Buffer.alloc(16))]),
      ]),
    ]),
  ],
  [
    'OpaqueObject',
    structure(Tag.OpaqueObject, [
      enumeration(Tag.OpaqueDataType, Enumeration.OpaqueDataType.Unknown),
      byteString(Tag.OpaqueDataValue, Buffer.from('x')),
    ]),
  ],
  [
    'Certificate',
    structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, Buffer.from('30030201ff', 'hex')),
    ]),
  ],
]

const strange: readonly TtlvNode[] = [
  integer(Tag.KeyMaterial, -1),
  textString(Tag.KeyFormatType, 'Raw'),
  enumeration(Tag.KeyFormatType, 0xffffffff),
  enumeration(Tag.CryptographicAlgorithm, 0x7fffffff),
  integer(Tag.CryptographicLength, -0x80000000),
  structure(Tag.KeyValue, []),
  structure(Tag.KeyWrappingData, []),
  byteString(Tag.KeyMaterial, new Uint8Array(0)),
  enumeration(Tag.KeyCompressionType, 9),
]

interface Mutation {
  readonly at: number
  readonly how: 'drop' | 'twice' | 'retag' | 'replace' | 'empty'
  readonly other: number
}

/** Changes the member that is `at`-th in the order in which a reader meets them. */
function mutate(node: StructureNode, { at, how, other }: Mutation): StructureNode {
  let left = at
  const walk = (parent: StructureNode): StructureNode => {
    const value: TtlvNode[] = []
    for (const member of parent.value) {
      const hit = left === 0
      left -= 1
      if (!hit) value.push(member.type === 'Structure' ? walk(member) : member)
      else if (how === 'twice') value.push(member, member)
      else if (how === 'retag') value.push({ ...member, tag: strange[other]?.tag ?? Tag.KeyBlock })
      else if (how === 'replace') value.push(strange[other] ?? member)
      else if (how === 'empty') value.push(structure(member.tag, []))
    }
    return { ...parent, value }
  }
  return walk(node)
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(14),
  how: fc.constantFrom('drop', 'twice', 'retag', 'replace', 'empty'),
  other: fc.nat(strange.length - 1),
})

test('property: an object with members removed, repeated, renamed or replaced is refused with a reason, or round-trips', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...samples),
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
      async ([type, sample], mutations) => {
        const node = mutations.reduce(mutate, sample)
        try {
          const stored = await readManagedObject(type, node, {}, policy)
          if (stored.material === undefined) return
          digestAttributes(stored.shape, stored.material)
          encodeTtlv(writeManagedObject(stored.shape, stored.material))
        } catch (error) {
          assert.ok(
            error instanceof KmipFailure || error instanceof KmipDecodeError,
            String(error instanceof Error ? error.stack : error),
          )
        }
      },
    ),
    { numRuns: 1500 },
  )
})
