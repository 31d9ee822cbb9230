import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { blobAad, readBlob, type WrappedBlob, writeBlob } from './wrapping-key.ts'

const blob = fc.record({
  kind: fc.constantFrom('data key' as const, 'private key' as const),
  kid: fc.string({ minLength: 1, maxLength: 36 }),
  perimeterId: fc.string({ unit: 'grapheme', maxLength: 12 }),
  iv: fc.uint8Array({ minLength: 12, maxLength: 12 }),
  ciphertext: fc.uint8Array({ minLength: 1, maxLength: 128 }),
  tag: fc.uint8Array({ minLength: 16, maxLength: 16 }),
})

const plain = (found: WrappedBlob | undefined) =>
  found && {
    ...found,
    iv: Uint8Array.from(found.iv),
    ciphertext: Uint8Array.from(found.ciphertext),
    tag: Uint8Array.from(found.tag),
  }

test('a blob reads back as what was written, and only as its kind', () => {
  fc.assert(
    fc.property(blob, (value) => {
      assert.deepEqual(plain(readBlob(writeBlob(value), value.kind)), plain(value))
      const other = value.kind === 'data key' ? 'private key' : 'data key'
      assert.equal(readBlob(writeBlob(value), other), undefined)
    }),
  )
})

test('any bytes are a blob or are not, and what is one writes the same bytes again', () => {
  const start = Buffer.from([0x57, 0x47, 0x43, 0x01, 1])
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (tail, known) => {
      const bytes = known ? Buffer.concat([start, tail]) : Buffer.from(tail)
      const read = readBlob(bytes, 'data key')
      if (read !== undefined) assert.deepEqual(writeBlob(read), bytes)
    }),
  )
})

test('different heads and resources never have the same additional data', () => {
  const head = fc.record({
    kind: fc.constantFrom('data key' as const, 'private key' as const),
    kid: fc.string({ maxLength: 3 }),
    perimeterId: fc.string({ maxLength: 3 }),
  })
  const one = fc.tuple(head, fc.string({ maxLength: 4 }))
  fc.assert(
    fc.property(one, one, ([a, resourceOfA], [b, resourceOfB]) => {
      const same = JSON.stringify([a, resourceOfA]) === JSON.stringify([b, resourceOfB])
      assert.equal(blobAad(a, resourceOfA).equals(blobAad(b, resourceOfB)), same)
    }),
  )
})
