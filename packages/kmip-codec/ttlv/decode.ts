import { Buffer } from 'node:buffer'
import { KmipDecodeError } from './error.ts'
import {
  type DecodeLimits,
  maximumDateTime,
  maximumDepth,
  maximumItems,
  shortest,
  type TtlvNode,
} from './node.ts'

/** Bytes of a header: tag, type, length. */
const frameHeaderSize = 8

/** Default maximum size of a message: 64 MiB, as over HTTP. */
const defaultMaximumMessage = 64 * 1024 * 1024

/**
 * Returns the length of the message that starts with these bytes, to read messages from a stream: collect
 * until `prefix.length` reaches this length, then decode exactly that many bytes.
 * @returns bytes of the whole message with its header; undefined for fewer than 8 bytes @throws
 *   KmipDecodeError when no KMIP message can start with these bytes, or it would be larger than `maximum`
 */
export function frameLength(prefix: Uint8Array, maximum: number = defaultMaximumMessage): number | undefined {
  if (prefix.length > 0 && prefix[0] !== 0x42)
    throw new KmipDecodeError('unknown_tag', 'A message must start with a structure of the standard.')
  if (prefix.length > 3 && prefix[3] !== 0x01)
    throw new KmipDecodeError('unknown_type', 'A message must start with a structure.')
  if (prefix.length < frameHeaderSize) return undefined
  const view = new DataView(prefix.buffer, prefix.byteOffset, frameHeaderSize)
  const length = view.getUint32(4)
  if (length % 8 !== 0)
    throw new KmipDecodeError('wrong_length', 'The length of a structure must be a multiple of 8.')
  if (length + frameHeaderSize > maximum)
    throw new KmipDecodeError('too_large', 'The message exceeds the size limit.')
  return length + frameHeaderSize
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads one binary TTLV item that fills `bytes` exactly (KMIP 2.1 §10.1). No memory is allocated by a length
 * in the message: a length beyond the end is refused before it is used. ByteStrings and BigIntegers are views
 * of `bytes`, so `bytes` must not change afterwards. @throws KmipDecodeError unless the bytes are exactly one
 * well-formed item
 */
export function decodeTtlv(bytes: Uint8Array, limits: DecodeLimits = {}): TtlvNode {
  const reader = new Reader(bytes, limits)
  const node = reader.item(bytes.length, 1)
  if (reader.position !== bytes.length)
    throw new KmipDecodeError('trailing_bytes', 'The message has trailing bytes.')
  return node
}

/** The item types that only 3.0 has; their values are UTF-8, as those of a TextString. */
const draftTypes: ReadonlyMap<number, 'Identifier' | 'Reference' | 'NameReference'> = new Map([
  [0x0c, 'Identifier'],
  [0x0d, 'Reference'],
  [0x0e, 'NameReference'],
])

class Reader {
  position = 0
  readonly #bytes: Buffer
  readonly #depth: number
  readonly #draft: boolean
  #itemsLeft: number

  constructor(bytes: Uint8Array, limits: DecodeLimits) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#depth = Math.min(limits.depth ?? maximumDepth, maximumDepth)
    this.#itemsLeft = limits.items ?? maximumItems
    this.#draft = limits.draft ?? false
  }

  /** Reads the item at `position`, which must end at or before `end`. */
  item(end: number, depth: number): TtlvNode {
    const bytes = this.#bytes
    const start = this.position
    if (end - start < 8) throw new KmipDecodeError('truncated', 'The message ends inside an item.')
    this.#itemsLeft -= 1
    if (this.#itemsLeft < 0)
      throw new KmipDecodeError('too_many_items', 'The message contains too many items.')
    const word = this.#word(start)
    const tag = word >>> 8
    const space = word >>> 24
    if (space !== 0x42 && space !== 0x54)
      throw new KmipDecodeError('unknown_tag', 'A tag is neither of the standard nor an extension.')
    const length = this.#word(start + 4)
    const from = start + 8
    if (length > end - from)
      throw new KmipDecodeError('truncated', 'A length exceeds the end of the enclosing item.')
    switch (word & 0xff) {
      case 0x01:
        return { tag, type: 'Structure', value: this.#members(from, from + length, depth) }
      case 0x02:
        this.#short(from, length, end)
        return { tag, type: 'Integer', value: this.#word(from) | 0 }
      case 0x03:
        this.#long(from, length)
        return { tag, type: 'LongInteger', value: bytes.readBigInt64BE(from) }
      case 0x04:
        if (length === 0 || length % 8 !== 0) throw wrongLength()
        this.position = from + length
        return { tag, type: 'BigInteger', value: shortest(this.#view(from, length)) }
      case 0x05:
        this.#short(from, length, end)
        return { tag, type: 'Enumeration', value: this.#word(from) }
      case 0x06:
        this.#long(from, length)
        return { tag, type: 'Boolean', value: this.#boolean(from) }
      case 0x07:
        return { tag, type: 'TextString', value: this.#padded(from, length, end) }
      case 0x08: {
        this.#pad(from + length, end)
        return { tag, type: 'ByteString', value: this.#view(from, length) }
      }
      case 0x09:
        this.#long(from, length)
        return { tag, type: 'DateTime', value: this.#date(from) }
      case 0x0a:
        this.#short(from, length, end)
        return { tag, type: 'Interval', value: this.#word(from) }
      case 0x0b:
        this.#long(from, length)
        return { tag, type: 'DateTimeExtended', value: bytes.readBigInt64BE(from) }
      default: {
        const type = this.#draft ? draftTypes.get(word & 0xff) : undefined
        if (type === undefined) throw new KmipDecodeError('unknown_type', 'An item has an unknown type.')
        return { tag, type, value: this.#padded(from, length, end) }
      }
    }
  }

  #members(from: number, end: number, depth: number): TtlvNode[] {
    if (depth >= this.#depth && end > from)
      throw new KmipDecodeError('too_deep', 'The message is nested too deep.')
    this.position = from
    const members: TtlvNode[] = []
    while (this.position < end) members.push(this.item(end, depth + 1))
    return members
  }

  #word(at: number): number {
    const bytes = this.#bytes
    return (
      (((bytes[at] ?? 0) << 24) |
        ((bytes[at + 1] ?? 0) << 16) |
        ((bytes[at + 2] ?? 0) << 8) |
        (bytes[at + 3] ?? 0)) >>>
      0
    )
  }

  /** Four bytes, and four bytes of padding. */
  #short(from: number, length: number, end: number): void {
    if (length !== 4) throw wrongLength()
    this.#pad(from + 4, end)
  }

  #long(from: number, length: number): void {
    if (length !== 8) throw wrongLength()
    this.position = from + 8
  }

  /** Checks the zeros up to the next multiple of 8 and skips them. */
  #pad(from: number, end: number): void {
    // Items start at multiples of 8 from the start of the message, because every earlier item was padded to
    // 8.
    const stop = (from + 7) & ~7
    if (stop > end) throw new KmipDecodeError('truncated', 'The message ends inside its padding.')
    for (let at = from; at < stop; at++)
      if (this.#bytes[at] !== 0) throw new KmipDecodeError('wrong_padding', 'Padding is not zero.')
    this.position = stop
  }

  #padded(from: number, length: number, end: number): string {
    const value = this.#text(from, length)
    this.#pad(from + length, end)
    return value
  }

  #view(from: number, length: number): Uint8Array {
    return this.#bytes.subarray(from, from + length)
  }

  #boolean(from: number): boolean {
    const low = this.#word(from + 4)
    if (this.#word(from) !== 0 || low > 1)
      throw new KmipDecodeError('invalid_value', 'A Boolean is neither 0 nor 1.')
    return low === 1
  }

  #date(from: number): number {
    const seconds = (this.#word(from) | 0) * 0x1_0000_0000 + this.#word(from + 4)
    if (Math.abs(seconds) > maximumDateTime)
      throw new KmipDecodeError('invalid_value', 'A date is out of range.')
    return seconds
  }

  #text(from: number, length: number): string {
    const bytes = this.#bytes
    const end = from + length
    for (let at = from; at < end; at++) {
      if ((bytes[at] ?? 0) < 0x80) continue
      try {
        return utf8.decode(bytes.subarray(from, end))
      } catch {
        throw new KmipDecodeError('invalid_text', 'A TextString is not UTF-8.')
      }
    }
    return bytes.toString('latin1', from, end)
  }
}

function wrongLength(): KmipDecodeError {
  return new KmipDecodeError('wrong_length', 'The length of an item is not allowed for its type.')
}
