import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Enumeration,
  enumeration,
  integer,
  attributes as standard,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import fc from 'fast-check'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey } from '../../testing/requests.ts'

const { kms, alice } = await startKmipFixture()

const fresh = (...nodes: readonly TtlvNode[]) => structure(Tag.NewAttribute, nodes)
const group = (value: string) => textString(Tag.ObjectGroup, value)

test('attributes that clients add to one object concurrently are all stored', async () => {
  const id = await createAesKey(alice)
  const values = Array.from({ length: 8 }, (_, index) => `g${index}`)
  await Promise.all(values.map((value) => alice.do('AddAttribute', [uid(id), fresh(group(value))])))
  const got = await alice.do('GetAttributes', [uid(id), enumeration(Tag.AttributeReference, Tag.ObjectGroup)])
  const [, holder] = got.nodes
  assert.ok(holder?.type === 'Structure')
  assert.deepEqual(holder.value.map(({ value }) => value).sort(), values)
})

const tag = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...standard.map((row) => row.tag)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(Tag.Username, Tag.KeyBlock, Tag.Attributes, Tag.NewAttribute, 0x540001),
  },
)
const members = [
  Tag.NameValue,
  Tag.NameType,
  Tag.LinkType,
  Tag.LinkedObjectIdentifier,
  Tag.VendorIdentification,
  Tag.AttributeName,
  Tag.AttributeValue,
  Tag.ApplicationNamespace,
  Tag.UsageLimitsTotal,
  Tag.UsageLimitsUnit,
  Tag.UniqueIdentifier,
]
const value = (which: number): fc.Arbitrary<TtlvNode> =>
  fc.oneof(
    fc
      .constantFrom('', 'x', 'tag', 'warder', '["a"]', '\u0000', 'ü'.repeat(700))
      .map((text) => textString(which, text)),
    fc.integer({ min: -0x80000000, max: 0x7fffffff }).map((number) => integer(which, number)),
    fc.constantFrom(0, 1, 2, 3, 0x101, 0xffffffff).map((number) => enumeration(which, number)),
    fc.boolean().map((truth): TtlvNode => ({ tag: which, type: 'Boolean', value: truth })),
    fc
      .constantFrom(0, 1, -8_640_000_000_000, 8_640_000_000_000)
      .map((at): TtlvNode => ({ tag: which, type: 'DateTime', value: at })),
    fc
      .bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n })
      .map((long): TtlvNode => ({ tag: which, type: 'LongInteger', value: long })),
    fc
      .uint8Array({ maxLength: 40 })
      .map((bytes): TtlvNode => ({ tag: which, type: 'ByteString', value: bytes })),
    fc.nat().map((count): TtlvNode => ({ tag: which, type: 'Interval', value: count })),
  )
const node: fc.Arbitrary<TtlvNode> = tag.chain((which) =>
  fc.oneof(
    value(which),
    fc
      .array(fc.constantFrom(...members).chain(value), { maxLength: 4 })
      .map((inside) => structure(which, inside)),
  ),
)

/** Reasons that mean the fault is the server's. */
const ours = new Set(['GeneralFailure', 'InternalServerError', undefined])

test('property: any node in place of an attribute is accepted or refused, and never causes a server error', async () => {
  const id = await createAesKey(alice)
  const reference = fc.oneof(
    tag.map((which) => enumeration(Tag.AttributeReference, which)),
    value(Tag.AttributeReference),
    fc
      .constantFrom(...members)
      .chain(value)
      .map((inside) => structure(Tag.AttributeReference, [inside])),
  )
  const holder = fc.array(node, { maxLength: 2 })
  const ask = fc.oneof(
    fc.tuple(
      fc.constantFrom('AddAttribute' as const, 'SetAttribute' as const, 'ModifyAttribute' as const),
      holder.map((inside): readonly TtlvNode[] => [fresh(...inside)]),
    ),
    fc.tuple(
      fc.constantFrom('DeleteAttribute' as const),
      holder.map((inside): readonly TtlvNode[] => [structure(Tag.CurrentAttribute, inside)]),
    ),
    fc.tuple(
      fc.constantFrom('DeleteAttribute' as const, 'GetAttributes' as const),
      fc.array(reference, { maxLength: 3 }),
    ),
    fc.tuple(
      fc.constant('AdjustAttribute' as const),
      fc
        .tuple(reference, value(Tag.AdjustmentType), value(Tag.AdjustmentValue))
        .map((all): readonly TtlvNode[] => all),
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(ask, { minLength: 1, maxLength: 20 }), async (asks) => {
      const { items } = await alice.send(
        asks.map(([operation, payload], index) => ({
          operation,
          payload: [uid(id), ...payload],
          id: Buffer.from(String(index)),
        })),
        { batchErrorContinuation: 'Continue' },
      )
      assert.equal(items.length, asks.length)
      for (const { status, reason, message } of items)
        if (status !== 'Success') assert.ok(!ours.has(reason), `${reason}: ${message}`)
      assert.equal((await alice.ask('GetAttributes', [uid(id)])).status, 'Success')
    }),
    { numRuns: 60 },
  )
  assert.deepEqual(
    kms.log.filter((line) => line.includes('a KMIP operation failed')),
    [],
  )
})

test('property: any search is answered or refused, and never causes a server error', async () => {
  const search = fc.tuple(
    fc.array(node, { maxLength: 4 }),
    fc.option(
      fc
        .constantFrom(
          ...members,
          Tag.StorageStatusMask,
          Tag.MaximumItems,
          Tag.OffsetItems,
          Tag.ObjectGroupMember,
        )
        .chain(value),
      { nil: undefined },
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(search, { minLength: 1, maxLength: 20 }), async (searches) => {
      const { items } = await alice.send(
        searches.map(([wanted, more], index) => ({
          operation: 'Locate',
          payload: [more, attributes(...wanted)],
          id: Buffer.from(String(index)),
        })),
        { batchErrorContinuation: 'Continue' },
      )
      for (const { status, reason, message } of items)
        if (status !== 'Success') assert.ok(!ours.has(reason), `${reason}: ${message}`)
    }),
    { numRuns: 60 },
  )
  assert.deepEqual(
    kms.log.filter((line) => line.includes('a KMIP operation failed')),
    [],
  )
})

test('an object with dates out of order, a repeated name or too many attributes is not created', async () => {
  const create = (...more: readonly TtlvNode[]) => [objectType('SymmetricKey'), aesAttributes(256, ...more)]
  const date = (which: number, at: number): TtlvNode => ({ tag: which, type: 'DateTime', value: at })
  const name = (text: string) =>
    structure(Tag.Name, [textString(Tag.NameValue, text), enumeration(Tag.NameType, 1)])
  const future = 4_000_000_000
  for (const [earlier, later] of [
    [Tag.ActivationDate, Tag.DeactivationDate],
    [Tag.ActivationDate, Tag.ProcessStartDate],
    [Tag.ProtectStopDate, Tag.DeactivationDate],
  ] as const) {
    const wrong = create(date(earlier, future), date(later, future - 1))
    await alice.fails('Create', wrong, 'InvalidAttributeValue')
    await alice.do('Create', create(date(earlier, future), date(later, future)))
  }
  await alice.fails('Create', create(name('n'), name('n')), 'NonUniqueNameAttribute')
  const large = structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, 'x'),
    textString(Tag.AttributeName, 'large'),
    textString(Tag.AttributeValue, 'x'.repeat(300_000)),
  ])
  await alice.fails('Create', create(large), 'ServerLimitExceeded')
})

test('a search by too many attributes or for too many tags is refused', async () => {
  const many = Array.from({ length: 65 }, (_, index) => group(`g${index}`))
  await alice.fails('Locate', [attributes(...many)], 'InvalidField')
  const tags = JSON.stringify(Array.from({ length: 17 }, (_, index) => `t${index}`))
  const tagged = structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, 'warder'),
    textString(Tag.AttributeName, 'tag'),
    textString(Tag.AttributeValue, tags),
  ])
  await alice.fails('Locate', [attributes(tagged)], 'InvalidField')
})

test('too many attribute references are refused before they are resolved', async () => {
  const id = await createAesKey(alice)
  const references = Array.from({ length: 1001 }, () =>
    enumeration(Tag.AttributeReference, Enumeration.Operation.Create),
  )
  await alice.fails('GetAttributes', [uid(id), ...references], 'ServerLimitExceeded')
  await alice.fails('DeleteAttribute', [uid(id), ...references], 'ServerLimitExceeded')
})
