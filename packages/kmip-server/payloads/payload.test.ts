import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  KmipDecodeError,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { definePayload, field, repeated, required, since } from './payload.ts'

const declared = definePayload({
  uniqueIdentifier: field.identifier(Tag.UniqueIdentifier),
  objectType: required(field.named('ObjectType')),
  data: field.bytes(Tag.Data),
  init: field.flag(Tag.InitIndicator),
  attributes: field.attributes(Tag.Attributes),
  currentAttribute: since('2.0', field.structure(Tag.CurrentAttribute)),
  versions: repeated(
    field.group(Tag.ProtocolVersion, {
      major: required(field.integer(Tag.ProtocolVersionMajor)),
      minor: field.integer(Tag.ProtocolVersionMinor),
    }),
  ),
  objects: repeated(field.object()),
})
const type = enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey)
const request = (...members: readonly TtlvNode[]) => structure(Tag.RequestPayload, members)
const version = (...members: readonly TtlvNode[]) => structure(Tag.ProtocolVersion, members)

test('the members of a request are decoded by their tags, in any order, and others are ignored', () => {
  const id = textString(Tag.UniqueIdentifier, 'a')
  const key = structure(Tag.SymmetricKey, [])
  const attribute = integer(Tag.CryptographicLength, 256)
  const read = declared.decode(
    request(
      version(integer(Tag.ProtocolVersionMajor, 1), integer(Tag.ProtocolVersionMinor, 4)),
      key,
      structure(Tag.Attributes, [attribute]),
      byteString(Tag.Data, Uint8Array.of(1)),
      textString(Tag.Comment, 'not declared'),
      type,
      boolean(Tag.InitIndicator, true),
      version(integer(Tag.ProtocolVersionMajor, 2)),
      id,
    ),
  )
  assert.deepEqual(read, {
    uniqueIdentifier: id,
    objectType: 'SymmetricKey',
    data: Uint8Array.of(1),
    init: true,
    attributes: [attribute],
    currentAttribute: undefined,
    versions: [
      { major: 1, minor: 4 },
      { major: 2, minor: undefined },
    ],
    objects: [key],
  })
})

test('absent members are undefined, false or none, and one request does not change the next', () => {
  declared.decode(request(type, version(integer(Tag.ProtocolVersionMajor, 1))))
  assert.deepEqual(declared.decode(request(type)), {
    uniqueIdentifier: undefined,
    objectType: 'SymmetricKey',
    data: undefined,
    init: false,
    attributes: [],
    currentAttribute: undefined,
    versions: [],
    objects: [],
  })
})

for (const [title, members, reason, message] of [
  ['a missing member', [], 'missing_member', 'ObjectType is missing.'],
  ['a repeated member', [type, type], 'repeated_member', 'ObjectType appears twice.'],
  [
    'a member of another type',
    [type, integer(Tag.Data, 1)],
    'wrong_member',
    'Data must be of type ByteString.',
  ],
  [
    'an object type without a name',
    [enumeration(Tag.ObjectType, 99)],
    'unknown_enumeration',
    'ObjectType has an unknown value.',
  ],
  [
    'a missing member of a structure',
    [type, version(integer(Tag.ProtocolVersionMinor, 1))],
    'missing_member',
    'ProtocolVersionMajor is missing.',
  ],
  [
    'attributes that are not a structure',
    [type, textString(Tag.Attributes, '')],
    'wrong_member',
    'Attributes must be of type Structure.',
  ],
] as const)
  test(`${title} is an error that names it`, () => {
    assert.throws(
      () => declared.decode(request(...members)),
      (error: unknown) =>
        error instanceof KmipDecodeError && error.code === reason && error.message === message,
    )
  })

test('the first identifier and the first attributes count', () => {
  const read = declared.decode(
    request(
      type,
      textString(Tag.UniqueIdentifier, 'a'),
      textString(Tag.UniqueIdentifier, 'b'),
      structure(Tag.Attributes, []),
      structure(Tag.Attributes, [type]),
    ),
  )
  assert.equal(read.uniqueIdentifier?.value, 'a')
  assert.deepEqual(read.attributes, [])
})

test('a member that is newer than the version of the client is ignored', () => {
  const current = structure(Tag.CurrentAttribute, [type])
  assert.equal(declared.decode(request(type, current), '1.4').currentAttribute, undefined)
  assert.equal(
    declared.decode(request(type, textString(Tag.CurrentAttribute, '')), '1.4').objectType,
    'SymmetricKey',
  )
  assert.deepEqual(declared.decode(request(type, current), '2.0').currentAttribute, current)
})

test('a reply is encoded in the order of its declaration, without absent members', () => {
  const key = structure(Tag.SymmetricKey, [])
  assert.deepEqual(
    declared.encode({
      versions: [{ major: 2, minor: 1 }, { major: 1 }],
      objects: [key],
      init: true,
      data: undefined,
      attributes: [type],
      objectType: 'SymmetricKey',
      uniqueIdentifier: 'a',
    }),
    [
      textString(Tag.UniqueIdentifier, 'a'),
      type,
      boolean(Tag.InitIndicator, true),
      structure(Tag.Attributes, [type]),
      version(integer(Tag.ProtocolVersionMajor, 2), integer(Tag.ProtocolVersionMinor, 1)),
      version(integer(Tag.ProtocolVersionMajor, 1)),
      key,
    ],
  )
})

test('the error for a repeated member can be another one', () => {
  const own = definePayload({ data: field.bytes(Tag.Data) }, (tag) => new RangeError(String(tag)))
  const data = byteString(Tag.Data, new Uint8Array(0))
  assert.throws(() => own.decode(request(data, data)), new RangeError(String(Tag.Data)))
})
