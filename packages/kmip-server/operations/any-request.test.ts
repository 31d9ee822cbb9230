import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  type OperationName,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import fc from 'fast-check'
import { algorithms, oasisData, startKmipFixture, use } from '../testing/kmip-fixture.ts'
import { attributes, uid } from '../testing/nodes.ts'

const { alice, registerKey, createPair } = await startKmipFixture()
const rsa = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
const ed = await createPair('Ed25519')
const parts = await alice.do('CreateSplitKey', [
  enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
  integer(Tag.SplitKeyParts, 2),
  integer(Tag.SplitKeyThreshold, 2),
  enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
  attributes(enumeration(Tag.CryptographicAlgorithm, algorithms.AES), integer(Tag.CryptographicLength, 128)),
])
const ids = [
  await registerKey(randomBytes(32), 'AES'),
  await registerKey(randomBytes(32), 'HMAC_SHA256'),
  await registerKey(randomBytes(32), 'ChaCha20'),
  rsa.priv,
  rsa.pub,
  ed.priv,
  ed.pub,
  parts.id,
  'nobody-has-this',
]

const bytes = fc.oneof(
  fc.constant(new Uint8Array(0)),
  fc.uint8Array({ maxLength: 40 }),
  fc.constant(oasisData),
  fc.constant(new Uint8Array(12)),
)
const byteTags = [
  Tag.Data,
  Tag.IVCounterNonce,
  Tag.AuthenticatedEncryptionAdditionalData,
  Tag.AuthenticatedEncryptionTag,
  Tag.MACData,
  Tag.SignatureData,
  Tag.DigestedData,
  Tag.CorrelationValue,
  Tag.DerivationData,
  Tag.Salt,
  Tag.InitializationVector,
]
const named = (tag: number, values: Readonly<Record<string, number>>) =>
  fc.constantFrom(...Object.values(values)).map((value) => enumeration(tag, value))
const inParameters: fc.Arbitrary<TtlvNode> = fc.oneof(
  named(Tag.BlockCipherMode, Enumeration.BlockCipherMode),
  named(Tag.PaddingMethod, Enumeration.PaddingMethod),
  named(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm),
  named(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm),
  fc.nat(64).map((value) => integer(Tag.TagLength, value)),
  fc.boolean().map((value) => boolean(Tag.RandomIV, value)),
)
const parametersNode = fc
  .array(inParameters, { maxLength: 2 })
  .map((members) => structure(Tag.CryptographicParameters, members))
const bytesNode = fc.tuple(fc.constantFrom(...byteTags), bytes).map(([tag, value]) => byteString(tag, value))
const member: fc.Arbitrary<TtlvNode> = fc.oneof(
  { arbitrary: bytesNode, weight: 5 },
  { arbitrary: parametersNode, weight: 3 },
  fc.boolean().map((value) => boolean(Tag.InitIndicator, value)),
  fc.boolean().map((value) => boolean(Tag.FinalIndicator, value)),
  fc.constantFrom(...byteTags).map((tag) => textString(tag, 'of another type')),
  named(Tag.DerivationMethod, Enumeration.DerivationMethod),
  named(Tag.ObjectType, Enumeration.ObjectType),
  named(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod),
  fc.integer({ min: -1, max: 300 }).map((value) => integer(Tag.SplitKeyParts, value)),
  fc.integer({ min: -1, max: 300 }).map((value) => integer(Tag.SplitKeyThreshold, value)),
  fc
    .array(
      fc.oneof(
        bytesNode,
        parametersNode,
        fc.integer({ min: -5, max: 50 }).map((value) => integer(Tag.IterationCount, value)),
      ),
      { maxLength: 3 },
    )
    .map((members) => structure(Tag.DerivationParameters, members)),
  fc
    .constantFrom(0, 8, 128, 129, 256, -1)
    .map((bits) =>
      attributes(
        enumeration(Tag.CryptographicAlgorithm, algorithms.AES),
        integer(Tag.CryptographicLength, bits),
        integer(Tag.CryptographicUsageMask, use.Encrypt),
      ),
    ),
)
const operations: readonly OperationName[] = [
  'Encrypt',
  'Decrypt',
  'Sign',
  'SignatureVerify',
  'MAC',
  'MACVerify',
  'Hash',
  'DeriveKey',
  'CreateSplitKey',
  'JoinSplitKey',
]

test('property: any request on any key succeeds, or is refused with a reason that is not a server error', async () => {
  const reasons = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations),
      fc.array(fc.nat(8), { maxLength: 2 }),
      fc.array(member, { maxLength: 5 }),
      async (operation, keys, members) => {
        const item = await alice.ask(operation, [...keys.map((index) => uid(ids[index] ?? '')), ...members])
        if (item.status === 'Success') return
        reasons.add(item.reason ?? '')
        const told = `${operation} ${item.reason} ${item.message}`
        assert.notEqual(item.message, 'An internal error occurred.', told)
        assert.notEqual(item.reason, 'InternalServerError', told)
        if (item.reason === 'GeneralFailure')
          assert.equal(item.message, 'L_KMIPCRYPTO_random:invalid-tag-length')
      },
    ),
    { numRuns: 600 },
  )
  assert.ok(reasons.size > 4)
  await alice.do('Encrypt', [uid(ids[0] ?? ''), byteString(Tag.Data, oasisData)])
})
