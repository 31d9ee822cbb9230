import { pkiError } from './error.ts'

/** One element of DER (X.690 §8.1), definite lengths only. */
export interface DerElement {
  /** The identifier byte: class, constructed bit and number below 31. */
  readonly tag: number
  /** A view of the bytes inside. */
  readonly content: Uint8Array
  /** A view of the whole element. */
  readonly whole: Uint8Array
}

export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** The identifier byte of a context-specific tag. */
export function contextTag(number: number, constructed = true): number {
  return (constructed ? 0xa0 : 0x80) | number
}

/** Maximum bytes of an object identifier; those of OpenSSL and of the standards are far shorter. */
const maxIdentifierBytes = 64

/** Maximum number of elements on one level of a structure. */
const maxElements = 1024

/**
 * Reads all elements in `bytes`, one after the other.
 * @param what name of the structure, for error messages
 * @throws PkiError when the bytes are not DER
 */
export function derElements(bytes: Uint8Array, what: string): readonly DerElement[] {
  const elements: DerElement[] = []
  let at = 0
  while (at < bytes.length) {
    const element = elementAt(bytes, at)
    if (element === undefined || elements.length === maxElements) throw notDer(what)
    elements.push(element)
    at += element.whole.length
  }
  return elements
}

/**
 * Iterates over the elements in `bytes` without a limit on their number, for long lists such as the entries of a CRL.
 * @throws PkiError at the first element that is not DER
 */
export function* derEach(bytes: Uint8Array, what: string): Generator<DerElement, void> {
  for (let at = 0; at < bytes.length; ) {
    const element = derElementAt(bytes, at, what)
    yield element
    at += element.whole.length
  }
}

/** Reads the element at this offset. @throws PkiError when there is none */
export function derElementAt(bytes: Uint8Array, at: number, what: string): DerElement {
  const element = elementAt(bytes, at)
  if (element === undefined) throw notDer(what)
  return element
}

/**
 * Reads the members of the SEQUENCE that fills `bytes` completely.
 * @throws PkiError when it is something else
 */
export function derMembers(bytes: Uint8Array, what: string, tag: number = derTag.sequence) {
  const outer = elementAt(bytes, 0)
  if (outer === undefined || outer.tag !== tag || outer.whole.length !== bytes.length) throw notDer(what)
  return derElements(outer.content, what)
}

/** Returns the content of an element with this tag. @throws PkiError */
export function derContent(element: DerElement | undefined, tag: number, what: string): Uint8Array {
  if (element === undefined || element.tag !== tag) throw notDer(what)
  return element.content
}

/** Returns the magnitude of a non-negative INTEGER, without leading zeros. @throws PkiError */
export function derMagnitude(element: DerElement | undefined, what: string): Uint8Array {
  const content = derContent(element, derTag.integer, what)
  const [first, second] = content
  if (first === undefined || first >= 0x80) throw notDer(what)
  if (first !== 0 || content.length === 1) return content
  if ((second ?? 0) < 0x80) throw notDer(what)
  return content.subarray(1)
}

/** An INTEGER of at most four bytes. @throws PkiError */
export function derSmallNumber(element: DerElement | undefined, what: string): number {
  const magnitude = derMagnitude(element, what)
  if (magnitude.length > 4) throw notDer(what)
  return magnitude.reduce((number, byte) => number * 256 + byte, 0)
}

/** Returns the bytes of a BIT STRING without unused bits. @throws PkiError */
export function derBits(element: DerElement | undefined, what: string): Uint8Array {
  const content = derContent(element, derTag.bitString, what)
  if (content[0] !== 0) throw notDer(what)
  return content.subarray(1)
}

/** Reads a BOOLEAN. X.690 §11.1 requires 0xff for true; older encoders write any other number. @throws PkiError */
export function derFlag(element: DerElement | undefined, what: string): boolean {
  const content = derContent(element, derTag.boolean, what)
  if (content.length !== 1) throw notDer(what)
  return content[0] !== 0
}

/** An OBJECT IDENTIFIER as dotted numbers. @throws PkiError */
export function derIdentifier(element: DerElement | undefined, what: string): string {
  const content = derContent(element, derTag.objectIdentifier, what)
  if (content.length === 0 || content.length > maxIdentifierBytes) throw notDer(what)
  const numbers: number[] = []
  let number = 0
  content.forEach((byte, index) => {
    if (number === 0 && byte === 0x80) throw notDer(what) // X.690 §8.19.2: no padding
    number = number * 128 + (byte & 0x7f)
    if (number > Number.MAX_SAFE_INTEGER / 256) throw notDer(what)
    if (byte >= 0x80) {
      if (index === content.length - 1) throw notDer(what)
      return
    }
    if (numbers.length === 0) {
      const first = Math.min(2, Math.floor(number / 40))
      numbers.push(first, number - first * 40)
    } else numbers.push(number)
    number = 0
  })
  return numbers.join('.')
}

function elementAt(bytes: Uint8Array, at: number): DerElement | undefined {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return undefined
  let start = at + 2
  let length = first
  if (first >= 0x80) {
    const count = first & 0x7f
    if (count === 0 || count > 4) return undefined
    length = 0
    for (let index = 0; index < count; index += 1) length = length * 256 + (bytes[start + index] ?? 0)
    start += count
    if (length < 0x80 || length < 256 ** (count - 1)) return undefined
  }
  const end = start + length
  if (end > bytes.length) return undefined
  return { tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) }
}

function notDer(what: string) {
  return pkiError('malformed', `${what} is not well-formed DER.`)
}

/** Encodes an element with this tag around the parts. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  let length = 0
  for (const part of parts) length += part.length
  const header = headerLength(length)
  const bytes = Buffer.allocUnsafe(header + length)
  writeHeader(bytes, tag, length)
  let at = header
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Encodes the identifier and length of an element whose content of `length` bytes is written elsewhere. */
export function derHeader(tag: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(headerLength(length))
  writeHeader(header, tag, length)
  return header
}

function headerLength(length: number): number {
  return 2 + (length < 0x80 ? 0 : lengthBytes(length))
}

function lengthBytes(length: number): number {
  return length < 0x100 ? 1 : length < 0x10000 ? 2 : length < 0x1000000 ? 3 : 4
}

function writeHeader(bytes: Buffer, tag: number, length: number): void {
  bytes[0] = tag
  if (length < 0x80) {
    bytes[1] = length
    return
  }
  const size = lengthBytes(length)
  bytes[1] = 0x80 | size
  bytes.writeUIntBE(length, 2, size)
}

export function derSequence(...parts: readonly Uint8Array[]): Buffer {
  return der(derTag.sequence, ...parts)
}

/** An INTEGER of a magnitude, which may have leading zeros. */
export function derInteger(magnitude: Uint8Array): Buffer {
  let start = 0
  while (start < magnitude.length - 1 && magnitude[start] === 0) start += 1
  const shortest = magnitude.subarray(start)
  return (shortest[0] ?? 0) >= 0x80
    ? der(derTag.integer, Buffer.alloc(1), shortest)
    : der(derTag.integer, shortest.length === 0 ? Buffer.alloc(1) : shortest)
}

export function derNumber(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  return derInteger(bytes)
}

export function derOctets(bytes: Uint8Array): Buffer {
  return der(derTag.octetString, bytes)
}

export function derBitString(bytes: Uint8Array): Buffer {
  return der(derTag.bitString, noUnusedBits, bytes)
}

const noUnusedBits = Uint8Array.of(0)

export function derBoolean(value: boolean): Buffer {
  return der(derTag.boolean, Uint8Array.of(value ? 0xff : 0))
}

export const derNull: Buffer = der(derTag.null)

/** Cache of encoded identifiers: nearly all of them are a few well-known ones. */
const encodedIdentifiers = new Map<string, Buffer>()
const maxCachedIdentifiers = 256

/** Encodes an OBJECT IDENTIFIER from dotted numbers. @throws PkiError for invalid numbers (X.660 §7.6) */
export function derObjectIdentifier(dotted: string): Buffer {
  const before = encodedIdentifiers.get(dotted)
  if (before !== undefined) return before
  // A copy with its own memory: a view would keep the whole pool alive.
  const written = Buffer.from(Uint8Array.from(writeIdentifier(dotted)).buffer)
  if (encodedIdentifiers.size < maxCachedIdentifiers) encodedIdentifiers.set(dotted, written)
  return written
}

function writeIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  if (!/^[0-2](\.(0|[1-9]\d{0,12}))+$/.test(dotted) || (first < 2 && second > 39))
    throw pkiError('invalid_value', 'The object identifier is not valid.')
  const bytes: number[] = []
  for (const number of [first * 40 + second, ...rest]) {
    const digits = [number % 128]
    for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift((left % 128) | 0x80)
    bytes.push(...digits)
  }
  if (bytes.length > maxIdentifierBytes) throw pkiError('invalid_value', 'The object identifier is too long.')
  return der(derTag.objectIdentifier, Uint8Array.from(bytes))
}
