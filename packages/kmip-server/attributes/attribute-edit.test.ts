import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  attributeMembers,
  attributeRules,
  type ManagedObject,
  newObjectDefaults,
  type ObjectId,
  objectTypes,
} from '@warder/keys'
import type { ObjectType } from '@warder/keys/testing'
import {
  bigInteger,
  boolean,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  longInteger,
  attributes as standard,
  structure,
  Tag,
  type TtlvNode,
  tagName,
  textString,
} from '@warder/kmip-codec'
import fc from 'fast-check'
import { KmipFailure } from '../failure/failure.ts'
import { type Adjustment, adjustValue } from '../operations/attributes/adjust-attribute.ts'
import {
  addAttribute,
  deleteAttribute,
  type Edited,
  modifyAttribute,
  setAttribute,
} from './attribute-edit.ts'
import { readAttributeName } from './attribute-name.ts'
import { type AttributeState, attributeInstances, listAttributes } from './attribute-view.ts'

const now = 1_800_000_000_000
const seconds = now / 1000

function readState(
  change: Partial<ManagedObject> = {},
  stored: readonly TtlvNode[] = [],
  tags: readonly string[] = [],
): AttributeState {
  return {
    object: {
      ...newObjectDefaults,
      id: 'key' as ObjectId,
      type: 'SymmetricKey',
      algorithm: 'AES',
      bits: 256,
      curve: undefined,
      boundAlg: undefined,
      state: 'PreActive',
      owner: 'alice',
      usageMask: 12,
      linkedId: undefined,
      createdAt: now - 5000,
      changedAt: now - 5000,
      activationAt: undefined,
      deactivationAt: undefined,
      compromisedAt: undefined,
      destroyedAt: undefined,
      revocationReason: undefined,
      revocationMessage: undefined,
      archivedAt: undefined,
      disabledAt: undefined,
      destructionAt: undefined,
      destruction: undefined,
      form: {},
      ...attributeMembers(stored),
      version: 1,
      ...change,
    },
    tags,
  }
}

const active = { state: 'Active', activationAt: now - 1000 } as const
const name = (value: string, type: number = Enumeration.NameType.UninterpretedTextString) =>
  structure(Tag.Name, [textString(Tag.NameValue, value), enumeration(Tag.NameType, type)])
const vendor = (called: string, value: TtlvNode, by = 'x') =>
  structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, by),
    textString(Tag.AttributeName, called),
    { ...value, tag: Tag.AttributeValue },
  ])
const text = (value: string) => textString(Tag.AttributeValue, value)
const limits = (total: bigint, count?: bigint) =>
  structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, total),
    count === undefined ? undefined : longInteger(Tag.UsageLimitsCount, count),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit.Byte),
  ])
const listValues = (edited: Edited, tag: number) =>
  attributeInstances(edited.state, tag, now).map(({ value }) => value)
const refused = (reason: string, edit: () => unknown) =>
  assert.throws(edit, (error) => error instanceof KmipFailure && error.code === reason, reason)

test('the table of rules has every attribute of 2.x once, the attributes of 1.x that the server sets, and only object types that exist', () => {
  const names = attributeRules.map((rule) => rule.name)
  assert.equal(new Set(names).size, names.length)
  const wanted = standard
    .filter(({ until, readOnly }) => until === undefined || readOnly)
    .map((row) => row.name)
  assert.deepEqual([...names].sort(), [...wanted].sort())
  for (const { appliesTo } of attributeRules)
    for (const type of appliesTo)
      assert.ok(
        objectTypes.some((known) => known === type),
        type,
      )
  for (const rule of attributeRules)
    if (rule.setBy === 'server') assert.ok(rule.readOnly, `${rule.name} is the server's`)
})

test('no operation lets a client change an attribute that only the server sets', () => {
  const state = readState(active)
  const samples: readonly TtlvNode[] = [
    enumeration(Tag.State, Enumeration.State.Compromised),
    integer(Tag.CertificateLength, 123),
    textString(Tag.UniqueIdentifier, 'other'),
    enumeration(Tag.ObjectType, 1),
    dateTime(Tag.InitialDate, 1),
    boolean(Tag.AlwaysSensitive, false),
    boolean(Tag.NeverExtractable, false),
    boolean(Tag.Fresh, true),
    interval(Tag.LeaseTime, 1),
    vendor('serial', text('1'), 'y'),
  ]
  for (const node of samples) refused('AttributeReadOnly', () => addAttribute(state, node, now))
  for (const node of [...samples, vendor('Operation Policy Name', text('default'), 'KMIP1')]) {
    refused('AttributeReadOnly', () => setAttribute(state, node, now))
    refused('AttributeReadOnly', () => modifyAttribute(state, node, {}, now))
    refused('AttributeReadOnly', () => deleteAttribute(state, readAttributeName(node), {}, now))
  }
})

test('an attribute that is fixed at creation cannot be changed later', () => {
  const state = readState()
  for (const node of [
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.DES3),
    integer(Tag.CryptographicLength, 128),
    integer(Tag.CryptographicUsageMask, 0x7fffffff),
    enumeration(Tag.KeyFormatType, 2),
  ]) {
    refused('AttributeSingleValued', () => addAttribute(state, node, now))
    refused('AttributeReadOnly', () => setAttribute(state, node, now))
    refused('AttributeReadOnly', () => modifyAttribute(state, node, {}, now))
    refused('AttributeReadOnly', () => deleteAttribute(state, readAttributeName(node), {}, now))
  }
})

test('an attribute that only the creation of an object sets cannot be added later, even if the object lacks it', () => {
  const secret = readState({ type: 'PrivateKey', algorithm: 'RSA', bits: 2048 })
  const curve = structure(Tag.CryptographicDomainParameters, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
  ])
  refused('AttributeReadOnly', () => addAttribute(secret, curve, now))
  refused('AttributeReadOnly', () => setAttribute(secret, curve, now))
  refused('AttributeReadOnly', () => addAttribute(readState(), vendor('secret', text('1'), 'warder'), now))
})

test('an interval of rotation switches rotation on; the name of a rotated key has no @', () => {
  const set = setAttribute(readState(), interval(Tag.RotateInterval, 60), now)
  assert.deepEqual(listValues(set, Tag.RotateAutomatic), [true])
  const off = setAttribute(set.state, boolean(Tag.RotateAutomatic, false), now)
  assert.deepEqual(
    listValues(setAttribute(off.state, interval(Tag.RotateInterval, 0), now), Tag.RotateAutomatic),
    [false],
  )
  refused('InvalidAttributeValue', () => setAttribute(readState(), textString(Tag.RotateName, 'a@1'), now))
  setAttribute(readState(), textString(Tag.RotateName, 'a'), now)
})

test('a single-valued attribute is added once, a multi-valued one again and again', () => {
  const one = addAttribute(readState(), textString(Tag.Description, 'mine'), now)
  assert.deepEqual(listValues(one, Tag.Description), ['mine'])
  refused('AttributeSingleValued', () => addAttribute(one.state, textString(Tag.Description, 'yours'), now))
  const group = addAttribute(readState(), textString(Tag.ObjectGroup, 'a'), now)
  const groups = addAttribute(group.state, textString(Tag.ObjectGroup, 'b'), now)
  assert.equal(groups.index, 1)
  assert.deepEqual(listValues(groups, Tag.ObjectGroup), ['a', 'b'])
})

test('an object has each Name once; two objects may have the same Name', () => {
  const state = readState({}, [name('n')])
  refused('NonUniqueNameAttribute', () => addAttribute(state, name('n'), now))
  refused('NonUniqueNameAttribute', () => addAttribute(state, name('n', Enumeration.NameType.URI), now))
  const two = addAttribute(state, name('m'), now)
  refused('NonUniqueNameAttribute', () => modifyAttribute(two.state, name('n'), { index: 1 }, now))
  modifyAttribute(two.state, name('n', Enumeration.NameType.URI), { index: 0 }, now)
})

test('if an attribute has several instances, the request must name one of them', () => {
  const state = readState({}, [textString(Tag.ObjectGroup, 'a'), textString(Tag.ObjectGroup, 'b')])
  const wanted = textString(Tag.ObjectGroup, 'c')
  refused('MultiValuedAttribute', () => modifyAttribute(state, wanted, {}, now))
  refused('MultiValuedAttribute', () => setAttribute(state, wanted, now))
  const current = textString(Tag.ObjectGroup, 'b')
  assert.deepEqual(listValues(modifyAttribute(state, wanted, { current }, now), Tag.ObjectGroup), ['a', 'c'])
  assert.deepEqual(listValues(modifyAttribute(state, wanted, { index: 0 }, now), Tag.ObjectGroup), ['c', 'b'])
  refused('AttributeInstanceNotFound', () => modifyAttribute(state, wanted, { index: 2 }, now))
  refused('AttributeInstanceNotFound', () => modifyAttribute(state, wanted, { current: wanted }, now))
  refused('InvalidAttribute', () => modifyAttribute(state, wanted, { current: name('b') }, now))
  refused('AttributeNotFound', () => modifyAttribute(readState(), wanted, {}, now))
})

test('DeleteAttribute removes one instance by value or index, or all instances of a name', () => {
  const state = readState({}, [textString(Tag.ObjectGroup, 'a'), textString(Tag.ObjectGroup, 'b')])
  const group = { tag: Tag.ObjectGroup, vendor: undefined }
  const current = textString(Tag.ObjectGroup, 'b')
  assert.deepEqual(listValues(deleteAttribute(state, group, { current }, now), Tag.ObjectGroup), ['a'])
  const first = deleteAttribute(state, group, { index: 0 }, now)
  assert.deepEqual([first.node.value, listValues(first, Tag.ObjectGroup)], ['a', ['b']])
  assert.deepEqual(listValues(deleteAttribute(state, group, {}, now), Tag.ObjectGroup), [])
  refused('AttributeInstanceNotFound', () => deleteAttribute(state, group, { index: 5 }, now))
  refused('AttributeNotFound', () => deleteAttribute(readState(), group, {}, now))
})

test('vendor attributes are distinguished by vendor and name', () => {
  const one = addAttribute(readState(), vendor('attribute1', text('1')), now)
  const two = addAttribute(one.state, vendor('attribute2', text('2')), now)
  assert.equal(two.index, 0)
  const other = modifyAttribute(two.state, vendor('attribute1', text('changed')), {}, now)
  const gone = deleteAttribute(
    other.state,
    { tag: Tag.Attribute, vendor: { vendor: 'x', name: 'attribute1' } },
    {},
    now,
  )
  assert.deepEqual(attributeInstances(gone.state, Tag.Attribute, now), [vendor('attribute2', text('2'))])
  refused('InvalidAttribute', () => addAttribute(readState(), vendor('', text('1')), now))
  refused('InvalidAttribute', () => addAttribute(readState(), vendor('n'.repeat(300), text('1')), now))
})

test('tags are an attribute of the object; system tags are not part of it', () => {
  const tagged = (value: string, by = 'warder') => vendor('tag', text(value), by)
  const state = readState({}, [], ['_jwks', 'red'])
  assert.deepEqual(attributeInstances(state, Tag.Attribute, now), [tagged('["red"]')])
  assert.deepEqual(addAttribute(state, tagged('["blue"]'), now).state.tags, ['_jwks', 'blue', 'red'])
  assert.deepEqual(setAttribute(state, tagged('["blue"]', 'cosmian'), now).state.tags, ['_jwks', 'blue'])
  const gone = deleteAttribute(state, readAttributeName(tagged('["red"]')), {}, now)
  assert.deepEqual(gone.state.tags, ['_jwks'])
  for (const bad of ['red', '[1]', '[""]', '["_jwks"]', '["a\\u0000"]', `["${'t'.repeat(257)}"]`])
    refused('InvalidAttributeValue', () => addAttribute(state, tagged(bad), now))
})

test('ActivationDate can be changed until the object is active, and activates it when it has passed', () => {
  const set = setAttribute(readState(), dateTime(Tag.ActivationDate, seconds - 1), now)
  assert.deepEqual(listValues(set, Tag.State), [Enumeration.State.Active])
  refused('WrongKeyLifecycleState', () =>
    setAttribute(set.state, dateTime(Tag.ActivationDate, seconds + 9), now),
  )
  refused('WrongKeyLifecycleState', () =>
    modifyAttribute(readState(active), dateTime(Tag.ActivationDate, seconds), {}, now),
  )
  const later = setAttribute(readState(), dateTime(Tag.ActivationDate, seconds + 10), now)
  assert.deepEqual(listValues(later, Tag.State), [Enumeration.State.PreActive])
})

test('dates keep their order, and those that have passed stay', () => {
  const start = setAttribute(readState(active), dateTime(Tag.ProcessStartDate, seconds + 50), now)
  const stop = setAttribute(start.state, dateTime(Tag.ProtectStopDate, seconds + 60), now)
  refused('InvalidAttributeValue', () =>
    setAttribute(stop.state, dateTime(Tag.DeactivationDate, seconds + 59), now),
  )
  const end = setAttribute(stop.state, dateTime(Tag.DeactivationDate, seconds + 60), now)
  refused('InvalidAttributeValue', () =>
    modifyAttribute(end.state, dateTime(Tag.ProtectStopDate, seconds + 61), {}, now),
  )
  refused('InvalidAttributeValue', () =>
    setAttribute(readState(active), dateTime(Tag.ProcessStartDate, seconds - 50), now),
  )
  const later = now + 55_000
  refused('WrongKeyLifecycleState', () =>
    modifyAttribute(stop.state, dateTime(Tag.ProcessStartDate, seconds + 58), {}, later),
  )
  modifyAttribute(stop.state, dateTime(Tag.ProtectStopDate, seconds + 58), {}, later)
  for (const ended of ['Deactivated', 'Compromised', 'Destroyed'] as const)
    refused('WrongKeyLifecycleState', () =>
      setAttribute(readState({ state: ended }), dateTime(Tag.DeactivationDate, seconds + 1), now),
    )
  refused('AttributeReadOnly', () =>
    deleteAttribute(stop.state, { tag: Tag.ProtectStopDate, vendor: undefined }, {}, now),
  )
})

test('a passed DeactivationDate deactivates', () => {
  const ended = setAttribute(readState(active), dateTime(Tag.DeactivationDate, seconds), now)
  assert.deepEqual(listValues(ended, Tag.State), [Enumeration.State.Deactivated])
})

test('AlwaysSensitive and NeverExtractable never become true again', () => {
  const secret = readState({}, [
    boolean(Tag.Sensitive, true),
    boolean(Tag.AlwaysSensitive, true),
    boolean(Tag.Extractable, false),
    boolean(Tag.NeverExtractable, true),
  ])
  const open = setAttribute(secret, boolean(Tag.Sensitive, false), now)
  const closed = setAttribute(open.state, boolean(Tag.Sensitive, true), now)
  assert.deepEqual(listValues(closed, Tag.Sensitive), [true])
  assert.deepEqual(listValues(closed, Tag.AlwaysSensitive), [false])
  const out = modifyAttribute(secret, boolean(Tag.Extractable, true), {}, now)
  const back = modifyAttribute(out.state, boolean(Tag.Extractable, false), {}, now)
  assert.deepEqual(listValues(back, Tag.NeverExtractable), [false])
})

test('the server counts usage limits down from the total; they cannot be changed after the first use', () => {
  const set = setAttribute(readState(), limits(100n), now)
  assert.deepEqual(attributeInstances(set.state, Tag.UsageLimits, now), [limits(100n, 100n)])
  refused('InvalidAttributeValue', () => setAttribute(readState(), limits(100n, 7n), now))
  refused('InvalidAttributeValue', () => setAttribute(readState(), limits(-1n), now))
  setAttribute(set.state, limits(50n), now)
  const used = readState({}, [limits(100n, 99n)])
  refused('PermissionDenied', () => setAttribute(used, limits(200n), now))
  refused('PermissionDenied', () =>
    deleteAttribute(used, { tag: Tag.UsageLimits, vendor: undefined }, {}, now),
  )
})

const linkTo = (type: keyof typeof Enumeration.LinkType, id: string): TtlvNode =>
  structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType[type]),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
const privateHalf = (...stored: readonly TtlvNode[]): AttributeState =>
  readState({ type: 'PrivateKey', algorithm: 'RSA', linkedId: 'public' as ObjectId }, stored)
const links = (state: AttributeState) => attributeInstances(state, Tag.Link, now)

test('the link between the keys of a pair is listed once, before other links', () => {
  const link = linkTo('PublicKeyLink', 'public')
  const parent = linkTo('ParentLink', 'parent')
  assert.deepEqual(links(privateHalf()), [link])
  const more = addAttribute(privateHalf(), parent, now)
  assert.deepEqual([more.index, links(more.state)], [1, [link, parent]])
  assert.deepEqual(links(privateHalf(link)), [link])
})

test('clients may delete and change the link between the keys of a pair', () => {
  const name = { tag: Tag.Link, vendor: undefined }
  const link = linkTo('PublicKeyLink', 'public')
  const other = linkTo('PublicKeyLink', 'other')
  const parent = linkTo('ParentLink', 'parent')
  for (const half of [privateHalf(parent), privateHalf(link, parent)]) {
    for (const which of [{ current: link }, { index: 0 }]) {
      const gone = deleteAttribute(half, name, which, now)
      assert.deepEqual([gone.index, gone.node, links(gone.state)], [0, link, [parent]])
      assert.equal(gone.state.object.linkedId, undefined)
      // The index of the other link stays, and the next one takes the gap (KMIP 1.4 §2.1.1).
      const again = addAttribute(gone.state, other, now)
      assert.deepEqual([again.index, links(again.state)], [0, [other, parent]])
      assert.equal(again.state.object.linkedId, undefined)
      const changed = modifyAttribute(half, other, which, now)
      assert.deepEqual([changed.index, links(changed.state)], [0, [other, parent]])
      assert.equal(changed.state.object.linkedId, undefined)
    }
    const kept = deleteAttribute(half, name, { current: parent }, now)
    assert.deepEqual([kept.index, links(kept.state), kept.state.object.linkedId], [1, [link], 'public'])
    assert.deepEqual(links(deleteAttribute(half, name, {}, now).state), [])
    const same = modifyAttribute(half, link, { current: link }, now)
    assert.deepEqual([links(same.state), same.state.object.linkedId], [[link, parent], 'public'])
  }
})

test('attributes of other types of object, wrong types and unknown values are refused', () => {
  const opaque = readState({ type: 'OpaqueObject', algorithm: undefined, bits: undefined })
  refused('InvalidAttribute', () => addAttribute(opaque, dateTime(Tag.ProcessStartDate, seconds + 5), now))
  refused('InvalidAttribute', () => addAttribute(readState(), textString(Tag.Username, 'x'), now))
  refused('InvalidAttributeValue', () => addAttribute(readState(), integer(Tag.Comment, 1), now))
  refused('InvalidAttributeValue', () => addAttribute(readState(), enumeration(Tag.NISTKeyType, 999), now))
  refused('InvalidAttributeValue', () => addAttribute(readState(), name(''), now))
  refused('InvalidAttributeValue', () => addAttribute(readState(), name('a\u0000b'), now))
  refused('InvalidAttributeValue', () => addAttribute(readState(), name('n'.repeat(1025)), now))
  refused('InvalidAttributeValue', () => addAttribute(readState(), structure(Tag.Name, []), now))
  refused('ApplicationNamespaceNotSupported', () =>
    addAttribute(
      readState(),
      structure(Tag.ApplicationSpecificInformation, [textString(Tag.ApplicationNamespace, 'n')]),
      now,
    ),
  )
})

test('an object has a bounded number and size of attributes', () => {
  const many = Array.from({ length: 1000 }, (_, index) => textString(Tag.ObjectGroup, `g${index}`))
  refused('ServerLimitExceeded', () =>
    addAttribute(readState({}, many), textString(Tag.ObjectGroup, 'h'), now),
  )
  refused('ServerLimitExceeded', () =>
    addAttribute(readState(), vendor('big', text('x'.repeat(300_000))), now),
  )
})

const adjusted = (value: TtlvNode, adjustment: Adjustment, by?: TtlvNode): unknown => {
  const state = readState({}, [vendor('n', value)])
  const edited = adjustValue(
    state,
    { tag: Tag.Attribute, vendor: { vendor: 'x', name: 'n' } },
    adjustment,
    by,
    now,
  )
  const [node] = attributeInstances(edited.state, Tag.Attribute, now)
  assert.ok(node?.type === 'Structure')
  return node.value[2]?.value
}

test('AdjustAttribute increments and decrements within the type, negates numbers and inverts booleans', () => {
  const value = Tag.AttributeValue
  const by = (count: number) => integer(Tag.AdjustmentValue, count)
  assert.equal(adjusted(integer(value, 5), 'Increment'), 6)
  assert.equal(adjusted(integer(value, 5), 'Decrement', by(7)), -2)
  assert.equal(adjusted(integer(value, 5), 'Negate'), -5)
  assert.equal(adjusted(boolean(value, true), 'Negate'), false)
  assert.equal(adjusted(longInteger(value, -1n), 'Negate'), 1n)
  assert.equal(
    adjusted(dateTime(value, seconds), 'Increment', interval(Tag.AdjustmentValue, 60)),
    seconds + 60,
  )
  refused('NumericRange', () => adjusted(integer(value, 0x7fffffff), 'Increment'))
  refused('NumericRange', () => adjusted(interval(value, 0), 'Decrement'))
  refused('NumericRange', () => adjusted(longInteger(value, -(1n << 63n)), 'Negate'))
  refused('InvalidDataType', () => adjusted(text('5'), 'Increment'))
  refused('InvalidDataType', () => adjusted(boolean(value, true), 'Increment'))
  refused('InvalidDataType', () =>
    adjusted(integer(value, 1), 'Increment', textString(Tag.AdjustmentValue, '1')),
  )
  refused('InvalidField', () => adjusted(integer(value, 1), 'Negate', by(1)))
})

test('BigIntegers of any size are adjusted without overflow', () => {
  const toBytes = (value: bigint) => {
    const digits = BigInt.asUintN(256, value).toString(16).padStart(64, '0')
    return Buffer.from(digits, 'hex')
  }
  const fromBytes = (bytes: Uint8Array) =>
    BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
  fc.assert(
    fc.property(fc.bigInt({ min: -(1n << 200n), max: 1n << 200n }), (number) => {
      const node = bigInteger(Tag.AttributeValue, toBytes(number))
      const up = adjusted(node, 'Increment')
      const turned = adjusted(node, 'Negate')
      assert.ok(up instanceof Uint8Array && turned instanceof Uint8Array)
      assert.equal(fromBytes(up), number + 1n)
      assert.equal(fromBytes(turned), -number)
    }),
  )
})

test('AdjustAttribute obeys the rules of SetAttribute', () => {
  const adjust = (state: AttributeState, tag: number) =>
    adjustValue(state, { tag, vendor: undefined }, 'Increment', undefined, now)
  refused('ReadOnlyAttribute', () => adjust(readState(), Tag.LeaseTime))
  refused('ReadOnlyAttribute', () => adjust(readState(), Tag.CryptographicLength))
  refused('AttributeNotFound', () => adjust(readState(), Tag.RotateInterval))
  refused('WrongKeyLifecycleState', () => adjust(readState(active), Tag.ActivationDate))
  const two = readState({}, [textString(Tag.ObjectGroup, 'a'), textString(Tag.ObjectGroup, 'b')])
  refused('MultiValuedAttribute', () => adjust(two, Tag.ObjectGroup))
})

test('property: after any sequence of edits the stored attributes read back unchanged, and a refused edit changes nothing', () => {
  const node = fc.oneof(
    fc.constantFrom('a', 'b').map((value) => name(value)),
    fc.constantFrom('g', 'h').map((value) => textString(Tag.ObjectGroup, value)),
    fc.constantFrom('c').map((value) => textString(Tag.Comment, value)),
    fc.boolean().map((value) => boolean(Tag.Sensitive, value)),
    fc.integer({ min: -50, max: 50 }).map((at) => dateTime(Tag.ActivationDate, seconds + at)),
    fc.integer({ min: -50, max: 50 }).map((at) => dateTime(Tag.DeactivationDate, seconds + at)),
    fc.integer({ min: -50, max: 50 }).map((at) => dateTime(Tag.ProtectStopDate, seconds + at)),
    fc.bigInt(0n, 9n).map((total) => limits(total)),
  )
  const edit = fc.tuple(
    fc.constantFrom('add', 'set', 'modify', 'delete'),
    node,
    fc.option(fc.nat(2), { nil: undefined }),
  )
  const type = fc.constantFrom<ObjectType>('SymmetricKey', 'OpaqueObject', 'Certificate')
  fc.assert(
    fc.property(type, fc.array(edit, { maxLength: 12 }), (kind, edits) => {
      let state = readState({ type: kind })
      for (const [what, wanted, index] of edits) {
        const before = listAttributes(state, now)
        try {
          const done =
            what === 'add'
              ? addAttribute(state, wanted, now)
              : what === 'set'
                ? setAttribute(state, wanted, now)
                : what === 'modify'
                  ? modifyAttribute(state, wanted, { index }, now)
                  : deleteAttribute(state, readAttributeName(wanted), { index }, now)
          state = done.state
        } catch (error) {
          assert.ok(error instanceof KmipFailure, String(error))
          assert.deepEqual(listAttributes(state, now), before)
        }
        const seen = new Map<number, number>()
        for (const { tag } of listAttributes(state, now, '3.0')) seen.set(tag, (seen.get(tag) ?? 0) + 1)
        for (const [tag, count] of seen) {
          const rule = attributeRules.find((one) => one.tag === tag)
          assert.ok(rule?.multiple === true || count === 1, `${tagName(tag)} is there ${count} times`)
        }
        for (const rule of attributeRules)
          if (rule.always && rule.appliesTo.has(kind)) assert.ok(seen.has(rule.tag), rule.name)
      }
    }),
  )
})
