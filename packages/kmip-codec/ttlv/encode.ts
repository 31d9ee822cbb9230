import { Buffer } from 'node:buffer'
import { KmipEncodeError } from './error.ts'
import { fits, maximumDepth, shortest, type TtlvNode } from './node.ts'

/**
 * Writes a tree as binary TTLV (KMIP 2.1 §10.1) into one buffer of exactly its size.
 * @throws KmipEncodeError for values outside their type, or a tree deeper than 64 levels
 */
export function encodeTtlv(node: TtlvNode): Buffer {
  const out = Buffer.allocUnsafe(8 + padTo8(valueSize(node, 1)))
  const end = write(out, 0, node)
  if (end !== out.length) throw new KmipEncodeError('The tree changed while it was encoded.')
  return out
}

function padTo8(size: number): number {
  return size + ((8 - (size & 7)) & 7)
}

/** Validates a value and returns its bytes without padding. */
function valueSize(node: TtlvNode, depth: number): number {
  if (!fits(node)) throw new KmipEncodeError(`The value is not valid for the type ${node.type}.`)
  switch (node.type) {
    case 'Structure': {
      if (depth >= maximumDepth && node.value.length > 0)
        throw new KmipEncodeError('The tree is nested too deep.')
      let size = 0
      for (const member of node.value) size += 8 + padTo8(valueSize(member, depth + 1))
      return size
    }
    case 'Integer':
    case 'Enumeration':
    case 'Interval':
      return 4
    case 'BigInteger':
      return padTo8(shortest(node.value).length)
    case 'TextString':
    case 'Identifier':
    case 'Reference':
    case 'NameReference':
      return textSize(node.value)
    case 'ByteString':
      return node.value.length
    default:
      return 8
  }
}

/** Writes an item at `at` and returns the position of the next one. */
function write(out: Buffer, at: number, node: TtlvNode): number {
  const from = at + 8
  switch (node.type) {
    case 'Structure': {
      let end = from
      for (const member of node.value) end = write(out, end, member)
      head(out, at, node.tag, 0x01, end - from)
      return end
    }
    case 'Integer':
      return short(out, at, node.tag, 0x02, node.value)
    case 'Enumeration':
      return short(out, at, node.tag, 0x05, node.value)
    case 'Interval':
      return short(out, at, node.tag, 0x0a, node.value)
    case 'Boolean':
      return long(out, at, node.tag, 0x06, 0, node.value ? 1 : 0)
    case 'DateTime':
      return long(out, at, node.tag, 0x09, Math.floor(node.value / 0x1_0000_0000), node.value % 0x1_0000_0000)
    case 'LongInteger':
      head(out, at, node.tag, 0x03, 8)
      return out.writeBigInt64BE(node.value, from)
    case 'DateTimeExtended':
      head(out, at, node.tag, 0x0b, 8)
      return out.writeBigInt64BE(node.value, from)
    case 'BigInteger': {
      const value = shortest(node.value)
      const size = padTo8(value.length)
      head(out, at, node.tag, 0x04, size)
      out.fill((value[0] ?? 0) >= 0x80 ? 0xff : 0, from, from + size - value.length)
      out.set(value, from + size - value.length)
      return from + size
    }
    case 'TextString':
    case 'Identifier':
    case 'Reference':
    case 'NameReference': {
      const length = writeText(out, from, node.value)
      head(out, at, node.tag, textTypes[node.type], length)
      return padding(out, from + length, from + padTo8(length))
    }
    case 'ByteString': {
      const { length } = node.value
      head(out, at, node.tag, 0x08, length)
      if (length > 0) out.set(node.value, from)
      return padding(out, from + length, from + padTo8(length))
    }
  }
}

const textTypes = { TextString: 0x07, Identifier: 0x0c, Reference: 0x0d, NameReference: 0x0e } as const

function head(out: Buffer, at: number, tag: number, type: number, length: number): void {
  putWord(out, at, (tag << 8) | type)
  putWord(out, at + 4, length)
}

/** Zeros up to the next item. */
function padding(out: Buffer, from: number, next: number): number {
  for (let at = from; at < next; at++) out[at] = 0
  return next
}

function short(out: Buffer, at: number, tag: number, type: number, value: number): number {
  head(out, at, tag, type, 4)
  putWord(out, at + 8, value)
  putWord(out, at + 12, 0)
  return at + 16
}

function long(out: Buffer, at: number, tag: number, type: number, high: number, low: number): number {
  head(out, at, tag, type, 8)
  putWord(out, at + 8, high)
  putWord(out, at + 12, low)
  return at + 16
}

function putWord(out: Buffer, at: number, value: number): void {
  out[at] = value >>> 24
  out[at + 1] = value >>> 16
  out[at + 2] = value >>> 8
  out[at + 3] = value
}

/** Most texts are short, and writing them byte by byte is faster than a call of native code. */
const shortText = 48

function textSize(text: string): number {
  if (text.length > shortText) return Buffer.byteLength(text, 'utf8')
  for (let index = 0; index < text.length; index++)
    if (text.charCodeAt(index) >= 0x80) return Buffer.byteLength(text, 'utf8')
  return text.length
}

function writeText(out: Buffer, from: number, text: string): number {
  if (text.length > shortText) return out.write(text, from, 'utf8')
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0x80) return out.write(text, from, 'utf8')
    out[from + index] = code
  }
  return text.length
}
