import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { byteString, encodeTtlv, integer, KmipDecodeError, structure, Tag } from '@warder/kmip-codec'
import fc from 'fast-check'
import { MessageReader, type ReadBudget } from './message-reader.ts'

const maximum = 4096
const budget = (limit = 1 << 20): ReadBudget => ({ limit, used: 0 })

function message(size: number, fill = 0): Buffer {
  return Buffer.from(
    encodeTtlv(structure(Tag.RequestMessage, [byteString(Tag.Data, Buffer.alloc(size, fill))])),
  )
}

function read(reader: MessageReader, chunks: readonly Buffer[]): Buffer[] {
  const found: Buffer[] = []
  for (const chunk of chunks) {
    reader.push(chunk)
    for (let next = reader.next(); next !== undefined; next = reader.next()) found.push(next)
  }
  return found
}

test('the same messages result from any segmentation of a stream, and each keeps its bytes', () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 60 })
  const sizes = fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(sizes, cuts, (wanted, steps) => {
      const messages = wanted.map((size, index) => message(size, index + 1))
      const stream = Buffer.concat(messages)
      const chunks: Buffer[] = []
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const length = steps[turn % steps.length] ?? 1
        chunks.push(Buffer.from(stream.subarray(at, at + length)))
        at += length
      }
      const shared = budget()
      const reader = new MessageReader(maximum, shared)
      assert.deepEqual(read(reader, chunks), messages)
      assert.equal(reader.pending, 0)
      assert.equal(shared.used, 0)
    }),
  )
})

test('the next message does not overwrite a message that is being answered', () => {
  const reader = new MessageReader(maximum, budget())
  const [first, second] = [message(100, 1), message(3000, 2)]
  const [begun] = read(reader, [
    first.subarray(0, 50),
    Buffer.concat([first.subarray(50), second.subarray(0, 900)]),
  ])
  assert.deepEqual(begun, first)
  const rest = [second.subarray(900, 1700), second.subarray(1700)]
  assert.deepEqual(read(reader, rest), [second])
  assert.deepEqual(begun, first)
})

test('the length in a header allocates no memory before the bytes arrive', () => {
  const shared = budget()
  const reader = new MessageReader(64 << 20, shared)
  const header = Buffer.from('4200780103fffff8', 'hex')
  reader.push(header)
  assert.equal(reader.next(), undefined)
  for (let count = 0; count < 1000; count++) reader.push(Buffer.from([0]))
  assert.equal(reader.next(), undefined)
  assert.ok(shared.used <= 4096, String(shared.used))
  reader.close()
  assert.equal(shared.used, 0)
})

test('the incomplete messages of all connections are bounded', () => {
  const shared = budget(8192)
  const [one, two] = [new MessageReader(1 << 20, shared), new MessageReader(1 << 20, shared)]
  const begin = (reader: MessageReader): void => {
    reader.push(Buffer.from('42007801000fff00', 'hex'))
    reader.next()
    reader.push(Buffer.alloc(3000))
  }
  begin(one)
  assert.throws(() => begin(two), KmipDecodeError)
  two.close()
  one.close()
  assert.equal(shared.used, 0)
  begin(two)
})

test('bytes that cannot be a message are refused at the first wrong byte', () => {
  for (const bytes of ['47', '4200780a', '4200780100000001', '16030100']) {
    const reader = new MessageReader(maximum, budget())
    reader.push(Buffer.from(bytes, 'hex'))
    assert.throws(() => reader.next(), KmipDecodeError, bytes)
  }
})

test("an oversized message is refused in the client's version", () => {
  const version = structure(Tag.ProtocolVersion, [
    integer(Tag.ProtocolVersionMajor, 1),
    integer(Tag.ProtocolVersionMinor, 4),
  ])
  const header = structure(Tag.RequestHeader, [version])
  const large = structure(Tag.RequestMessage, [header, byteString(Tag.Data, Buffer.alloc(maximum))])
  const bytes = Buffer.from(encodeTtlv(large))
  const reader = new MessageReader(maximum, budget())
  reader.push(bytes.subarray(0, 20))
  assert.equal(reader.next(), undefined)
  reader.push(bytes.subarray(20, 60))
  assert.throws(
    () => reader.next(),
    (error) => error instanceof KmipDecodeError && error.version?.major === 1 && error.version.minor === 4,
  )
})
