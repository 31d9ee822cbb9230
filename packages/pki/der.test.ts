import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  contextTag,
  der,
  derBitString,
  derBits,
  derBoolean,
  derElements,
  derFlag,
  derIdentifier,
  derInteger,
  derMagnitude,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from './der.ts'
import { PkiError } from './error.ts'

const what = 'The value'
const only = (bytes: Uint8Array) => {
  const [element, more] = derElements(bytes, what)
  assert.ok(element)
  assert.equal(more, undefined)
  return element
}
const malformed = { name: 'PkiError', code: 'malformed' }
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

test('a length is encoded in the fewest bytes, and decoded again', () => {
  for (const [length, header] of [
    [0, '04 00'],
    [127, '04 7f'],
    [128, '04 81 80'],
    [255, '04 81 ff'],
    [256, '04 82 0100'],
    [65_535, '04 82 ffff'],
    [65_536, '04 83 010000'],
    [16_777_215, '04 83 ffffff'],
    [16_777_216, '04 84 01000000'],
  ] as const) {
    const written = derOctets(Buffer.alloc(length))
    assert.deepEqual(written.subarray(0, written.length - length), hex(header))
    assert.equal(only(written).content.length, length)
  }
})

test('X.690 §8.1.3, §10.1: lengths that are indefinite, padded, reserved or past the end are refused', () => {
  for (const bytes of [
    '30 80 0000', // indefinite
    '04 81 01 00', // one byte would do
    `04 82 00ff ${'00'.repeat(255)}`,
    `04 83 00ffff ${'00'.repeat(65_535)}`,
    `04 84 00010000 ${'00'.repeat(65_536)}`,
    '04 85 0000000001 00', // more than four bytes
    '04 ff',
    '04 02 00', // past the end
    '04 84 ffffffff',
    '04 82 01', // the length itself is cut
    '04',
    '1f 8101 00', // tags above 30
  ])
    assert.throws(() => derElements(hex(bytes), what), malformed, bytes.slice(0, 30))
})

test('bytes behind a structure are refused', () => {
  assert.throws(() => derMembers(Buffer.concat([derSequence(), Buffer.alloc(1)]), what), malformed)
  assert.throws(() => derMembers(derOctets(Buffer.alloc(1)), what), malformed)
})

test('integers must be minimal and not negative', () => {
  for (const bytes of ['02 00', '02 02 0001', '02 02 007f', '02 01 80', '02 02 ffff', '04 01 00'])
    assert.throws(() => derMagnitude(only(hex(bytes)), what), malformed, bytes)
  assert.throws(() => derSmallNumber(only(hex('02 05 0100000000')), what), malformed)
  const huge = derInteger(Buffer.alloc(1 << 20, 0xff))
  assert.equal(derMagnitude(only(huge), what).length, 1 << 20)
})

test('X.690 §8.19: object identifiers must be minimal, complete and of bounded numbers', () => {
  for (const bytes of ['06 00', '06 01 80', '06 02 2a 80', '06 03 2a 80 01', '06 02 80 01'])
    assert.throws(() => derIdentifier(only(hex(bytes)), what), malformed, bytes)
  assert.throws(
    () => derIdentifier(only(der(6, Buffer.from(`2a${'ff'.repeat(8)}7f`, 'hex'))), what),
    malformed,
  )
  assert.throws(() => derIdentifier(only(der(6, Buffer.alloc(65, 1))), what), malformed)
  assert.equal(derIdentifier(only(hex('06 03 883703')), what), '2.999.3')
})

test('an object identifier without a valid encoding is refused', () => {
  for (const dotted of [
    '',
    '1',
    '3.1',
    '1.40',
    '0.50.3',
    '1.-2',
    '1.2.x',
    '1.2.',
    '1.2.1e99',
    '2.5.9007199254740993',
    `2${'.9999999999999'.repeat(12)}`,
  ])
    assert.throws(() => derObjectIdentifier(dotted), { name: 'PkiError', code: 'invalid_value' }, dotted)
})

test('booleans have one byte, bit strings of keys and signatures have whole bytes', () => {
  assert.equal(derFlag(only(derBoolean(true)), what), true)
  assert.equal(derFlag(only(derBoolean(false)), what), false)
  for (const bytes of ['01 00', '01 02 0000', '05 00'])
    assert.throws(() => derFlag(only(hex(bytes)), what), malformed)
  for (const bytes of ['03 00', '03 02 0180', '04 01 00'])
    assert.throws(() => derBits(only(hex(bytes)), what), malformed)
})

test('property: encoded values are decoded again', () => {
  const bytes = fc.uint8Array({ maxLength: 400 })
  fc.assert(
    fc.property(bytes, (given) => {
      assert.deepEqual(Buffer.from(only(derOctets(given)).content), Buffer.from(given))
      assert.deepEqual(Buffer.from(derBits(only(derBitString(given)), what)), Buffer.from(given))
      const shortest = Buffer.from(given).subarray(given.findIndex((byte) => byte !== 0))
      const magnitude = given.every((byte) => byte === 0) ? Buffer.alloc(1) : shortest
      assert.deepEqual(Buffer.from(derMagnitude(only(derInteger(given)), what)), magnitude)
    }),
  )
  fc.assert(
    fc.property(fc.nat(0xffffffff), (number) => {
      assert.equal(derSmallNumber(only(derNumber(number)), what), number)
    }),
  )
  const arc = fc.nat(0x7fffffff)
  const dotted = fc
    .oneof(fc.tuple(fc.constantFrom(0, 1), fc.nat(39)), fc.tuple(fc.constant(2), arc))
    .chain(([first, second]) =>
      fc.array(arc, { maxLength: 9 }).map((rest) => [first, second, ...rest].join('.')),
    )
  fc.assert(
    fc.property(dotted, (identifier) => {
      assert.equal(derIdentifier(only(derObjectIdentifier(identifier)), what), identifier)
    }),
  )
})

interface Tree {
  readonly tag: number
  readonly value: Uint8Array | readonly Tree[]
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: 'large' },
    fc.record({ tag: fc.constantFrom(1, 2, 3, 4, 5, 6, 12, contextTag(0, false)), value: fc.uint8Array() }),
    fc.record({
      tag: fc.constantFrom(derTag.sequence, derTag.set, contextTag(3)),
      value: fc.array(tie('tree'), { maxLength: 6 }),
    }),
  ),
}))
const write = ({ tag, value }: Tree): Buffer =>
  value instanceof Uint8Array ? der(tag, value) : der(tag, ...value.map(write))
const same = (given: Tree, bytes: Uint8Array): void => {
  const element = only(bytes)
  assert.equal(element.tag, given.tag)
  assert.deepEqual(Buffer.from(element.whole), Buffer.from(bytes))
  if (given.value instanceof Uint8Array) {
    assert.deepEqual(Buffer.from(element.content), Buffer.from(given.value))
    return
  }
  const members = derElements(element.content, what)
  assert.equal(members.length, given.value.length)
  for (const [index, member] of members.entries()) same(given.value[index] as Tree, member.whole)
}

test('property: encoded trees of any shape are decoded again', () => {
  fc.assert(fc.property(tree, (given) => same(given, write(given))))
})

test('property: the encoding is unique: decoded bytes are encoded to the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        const elements = derElements(bytes, what)
        assert.deepEqual(
          Buffer.concat(elements.map(({ tag, content }) => der(tag, content))),
          Buffer.from(bytes),
        )
      } catch (error) {
        assert.ok(error instanceof PkiError, String(error))
        assert.equal(error.code, 'malformed')
      }
    }),
    { numRuns: 2000 },
  )
})

test('a level has at most 1024 elements, and nested elements are decoded only on demand', () => {
  const many = (count: number) => derSequence(...Array.from({ length: count }, () => derNumber(1)))
  assert.equal(derMembers(many(1024), what).length, 1024)
  assert.throws(() => derMembers(many(1025), what), malformed)
  let deep = derSequence()
  for (let depth = 0; depth < 5000; depth += 1) deep = derSequence(deep)
  assert.equal(derMembers(deep, what).length, 1)
})
