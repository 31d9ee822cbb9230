import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { Tag } from '../tables/tags.gen.ts'
import { anyTree, plain } from '../testing/arbitrary.ts'
import { decodeTtlv, frameLength } from './decode.ts'
import { encodeTtlv } from './encode.ts'
import { type KmipDecodeCode, KmipDecodeError, KmipEncodeError } from './error.ts'
import { findMember, findMembers, optional, optionalName, requireMember } from './members.ts'
import {
  bigInteger,
  boolean,
  byteString,
  dateTime,
  enumeration,
  integer,
  interval,
  longInteger,
  structure,
  type TtlvNode,
  textString,
  toBigInteger,
  toMagnitude,
} from './node.ts'

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

/** The examples of KMIP 2.1 §10.1. */
const examples: readonly (readonly [string, TtlvNode])[] = [
  ['420020 02 00000004 00000008 00000000', integer(0x420020, 8)],
  ['420020 03 00000008 01B69B4BA5749200', longInteger(0x420020, 123456789000000000n)],
  [
    '420020 04 00000010 0000000003FD35EB6BC2DF4618080000',
    bigInteger(0x420020, hex('03FD35EB6BC2DF4618080000')),
  ],
  ['420020 05 00000004 000000FF 00000000', enumeration(0x420020, 255)],
  ['420020 06 00000008 0000000000000001', boolean(0x420020, true)],
  ['420020 07 0000000B 48656C6C6F20576F726C64 0000000000', textString(0x420020, 'Hello World')],
  ['420020 08 00000003 010203 0000000000', byteString(0x420020, hex('010203'))],
  ['420020 09 00000008 0000000047DA67F8', dateTime(0x420020, Date.UTC(2008, 2, 14, 11, 56, 40) / 1000)],
  ['420020 0A 00000004 000D2F00 00000000', interval(0x420020, 10 * 24 * 3600)],
  [
    '420020 01 00000020 420004 05 00000004 000000FE 00000000 420005 02 00000004 000000FF 00000000',
    structure(0x420020, [enumeration(0x420004, 254), integer(0x420005, 255)]),
  ],
]

test('The examples of the standard are read and written byte for byte', () => {
  for (const [bytes, node] of examples) {
    assert.equal(encodeTtlv(node).toString('hex'), hex(bytes).toString('hex'))
    assert.deepEqual(plain(decodeTtlv(hex(bytes))), plain(node))
  }
})

test('Every tree survives binary TTLV', () => {
  fc.assert(
    fc.property(anyTree, (tree) => {
      const bytes = encodeTtlv(tree)
      assert.equal(bytes.length % 8, 0)
      assert.deepEqual(plain(decodeTtlv(bytes)), plain(tree))
    }),
    { numRuns: 500 },
  )
})

function refused(bytes: Uint8Array, reason: KmipDecodeCode): void {
  assert.throws(
    () => decodeTtlv(bytes),
    (error) => error instanceof KmipDecodeError && error.code === reason,
    `${reason}: ${Buffer.from(bytes.subarray(0, 40)).toString('hex')}`,
  )
}

test('Bytes that are not exactly one well-formed item are refused with a reason', () => {
  refused(hex(''), 'truncated')
  refused(hex('42002002000000'), 'truncated')
  refused(hex('420020 02 00000004 00000008'), 'truncated')
  refused(hex('420020 02 00000004 00000008 00000000 00'), 'trailing_bytes')
  refused(hex('420020 02 00000004 00000008 00000001'), 'wrong_padding')
  refused(hex('420020 02 00000008 0000000000000008'), 'wrong_length')
  refused(hex('420020 03 00000004 00000008 00000000'), 'wrong_length')
  refused(hex('420020 04 00000000'), 'wrong_length')
  refused(hex('420020 04 00000007 01020304050607 00'), 'wrong_length')
  refused(hex('420020 05 00000000'), 'wrong_length')
  refused(hex('420020 06 00000008 0000000000000002'), 'invalid_value')
  refused(hex('420020 06 00000008 0100000000000001'), 'invalid_value')
  refused(hex('420020 07 00000003 C328FF 0000000000'), 'invalid_text')
  refused(hex('420020 07 00000003 EDA080 0000000000'), 'invalid_text')
  refused(hex('420020 07 00000003 616263 0000000001'), 'wrong_padding')
  refused(hex('420020 08 00000001 61'), 'truncated')
  refused(hex('420020 09 00000008 7FFFFFFFFFFFFFFF'), 'invalid_value')
  refused(hex('420020 0C 00000008 0000000000000000'), 'unknown_type')
  refused(hex('420020 00 00000008 0000000000000000'), 'unknown_type')
  refused(hex('430020 02 00000004 00000008 00000000'), 'unknown_tag')
  refused(hex('420020 01 00000004 00000000'), 'truncated')
  refused(hex('420020 01 00000010 420004 02 00000010 00000000 00000000'), 'truncated')
})

test('A length of gigabytes allocates no memory', () => {
  for (const type of ['01', '04', '07', '08'])
    for (const length of ['FFFFFFFF', '7FFFFFFF', '80000000', 'FFFFFFF8']) {
      const before = process.memoryUsage().arrayBuffers
      refused(hex(`420020 ${type} ${length} 0000000000000000`), 'truncated')
      assert.ok(process.memoryUsage().arrayBuffers - before < 1 << 20)
    }
})

/** Structures within structures, `depth` of them, the innermost empty. */
function nested(depth: number): Buffer {
  const bytes = Buffer.alloc(8 * depth)
  for (let level = 0; level < depth; level++) {
    bytes.writeUInt32BE(0x42002001, level * 8)
    bytes.writeUInt32BE(8 * (depth - 1 - level), level * 8 + 4)
  }
  return bytes
}

test('Nesting ends at 64 levels, for reading and for writing', () => {
  const deepest = decodeTtlv(nested(64))
  assert.equal(encodeTtlv(deepest).length, 512)
  refused(nested(65), 'too_deep')
  refused(nested(200_000), 'too_deep')
  assert.throws(() => encodeTtlv(structure(0x420020, [deepest])), KmipEncodeError)
})

test('A message holds at most 65,536 items', () => {
  const many = Buffer.alloc(8 + 8 * 65_536)
  many.writeUInt32BE(0x42002001, 0)
  many.writeUInt32BE(many.length - 8, 4)
  for (let at = 8; at < many.length; at += 8) many.writeUInt32BE(0x42002001, at)
  refused(many, 'too_many_items')
  assert.throws(() => decodeTtlv(nested(5), { items: 4 }), KmipDecodeError)
  assert.throws(() => decodeTtlv(nested(5), { depth: 4 }), KmipDecodeError)
})

test('Values that their type cannot hold are not written', () => {
  const wrong: readonly TtlvNode[] = [
    integer(Tag.Name, 2 ** 31),
    integer(Tag.Name, 1.5),
    enumeration(Tag.Name, -1),
    interval(Tag.Name, 2 ** 32),
    longInteger(Tag.Name, 2n ** 63n),
    dateTime(Tag.Name, Number.NaN),
    dateTime(Tag.Name, 1e13),
    textString(Tag.Name, '\ud800'),
    { tag: Tag.Name, type: 'BigInteger', value: new Uint8Array(0) },
    integer(0x430000, 1),
    integer(0x4200001, 1),
  ]
  for (const node of wrong)
    assert.throws(() => encodeTtlv(structure(Tag.Attributes, [node])), KmipEncodeError)
})

test('Big integers lose repeated sign bytes and convert to magnitudes', () => {
  const key = toBigInteger(Tag.Modulus, hex('00FF01'))
  assert.deepEqual([...key.value], [0, 0xff, 1])
  assert.deepEqual([...toMagnitude(key)], [0xff, 1])
  assert.deepEqual([...toMagnitude(toBigInteger(Tag.Modulus, new Uint8Array(0)))], [0])
  assert.deepEqual([...bigInteger(Tag.Modulus, hex('FFFFFF80')).value], [0x80])
  assert.throws(() => toMagnitude(bigInteger(Tag.Modulus, hex('FF'))), KmipDecodeError)
  assert.equal(
    encodeTtlv(bigInteger(Tag.Modulus, hex('80')))
      .toString('hex')
      .slice(-16),
    'ffffffffffffff80',
  )
})

test('The length of a frame is known after 8 bytes, and bytes that cannot start a message are refused', () => {
  const message = encodeTtlv(structure(Tag.RequestMessage, [integer(Tag.BatchCount, 1)]))
  assert.equal(frameLength(message), message.length)
  for (let length = 0; length < 8; length++) assert.equal(frameLength(message.subarray(0, length)), undefined)
  const readReason = (bytes: Uint8Array, maximum?: number): string => {
    try {
      frameLength(bytes, maximum)
      return 'accepted'
    } catch (error) {
      assert.ok(error instanceof KmipDecodeError)
      return error.code
    }
  }
  assert.equal(readReason(Buffer.from('GET / HTTP/1.1')), 'unknown_tag')
  assert.equal(readReason(hex('16')), 'unknown_tag')
  assert.equal(readReason(hex('42007802')), 'unknown_type')
  assert.equal(readReason(hex('4200780100000009')), 'wrong_length')
  assert.equal(readReason(hex('42007801FFFFFFF8')), 'too_large')
  assert.equal(readReason(message, message.length), 'accepted')
  assert.equal(readReason(message, message.length - 1), 'too_large')
})

test('Members are read by tag and type, once', () => {
  const parent = structure(Tag.Attributes, [
    enumeration(Tag.State, 2),
    integer(Tag.CryptographicLength, 256),
    textString(Tag.ObjectGroup, 'a'),
    textString(Tag.ObjectGroup, 'b'),
    undefined,
  ])
  const reason = (act: () => unknown): string => {
    try {
      act()
      return 'accepted'
    } catch (error) {
      assert.ok(error instanceof KmipDecodeError)
      return error.code
    }
  }
  assert.equal(requireMember(parent, Tag.CryptographicLength, 'Integer'), 256)
  assert.equal(optional(parent, Tag.Fresh, 'Boolean'), undefined)
  assert.equal(optionalName(parent, Tag.State, 'State'), 'Active')
  assert.equal(findMembers(parent, Tag.ObjectGroup).length, 2)
  assert.equal(findMember(parent, Tag.ObjectGroup)?.value, 'a')
  assert.equal(
    reason(() => requireMember(parent, Tag.Fresh, 'Boolean')),
    'missing_member',
  )
  assert.equal(
    reason(() => optional(parent, Tag.State, 'Integer')),
    'wrong_member',
  )
  assert.equal(
    reason(() => optional(parent, Tag.ObjectGroup, 'TextString')),
    'repeated_member',
  )
  assert.equal(
    reason(() => optionalName(structure(1, [enumeration(Tag.State, 99)]), Tag.State, 'State')),
    'unknown_enumeration',
  )
})
