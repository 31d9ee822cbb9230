import { isUtf8 } from 'node:buffer'
import { failure } from '../errors/index.ts'

/** Deepest nesting of arrays and objects that a body may have. */
export const maxJsonDepth = 64

const quote = 0x22
const backslash = 0x5c

/**
 * Reads a JSON text (RFC 8259) strictly: fatal UTF-8, no byte order mark, nesting at most 64, no member twice in one
 * object (RFC 7493 §2.3), no member named `__proto__`, no lone surrogates (RFC 7493 §2.1).
 *
 * JSON.parse keeps the last of two equal members without a word, so two parsers may read two different messages. One
 * scan counts the members in the text and one walk counts those in the value: the value has fewer exactly when a
 * member appeared twice.
 *
 * Throws failure('bad_request'); no sentence repeats a value of the body.
 */
export function parseJsonBody(body: Uint8Array): unknown {
  if (!isUtf8(body)) throw invalid('it is not valid UTF-8.')
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const members = scan(bytes)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    // The engine's message quotes the text, which may be a secret: it is not even kept as a cause.
    throw invalid('it is not valid JSON.')
  }
  // Only an escape can make an unpaired surrogate: the bytes are valid UTF-8.
  const escaped = bytes.includes(backslash)
  const escapes = escaped && bytes.includes('\\u')
  if (countMembers(value, escapes) !== members) throw invalid('a member appears twice in one object.')
  if (escaped) compareNames(bytes, value)
  return value
}

/**
 * V8's JSON.parse (14.x) may take a member name that is written with an escape (`"\\""`) for another name that an
 * earlier text had in that place. A lone string is read rightly: so the names are read one by one, and a value
 * that has other names than its text is refused.
 */
function compareNames(bytes: Buffer, value: unknown): void {
  const inText: string[] = []
  let start = 0
  let end = 0
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] === quote) {
      start = index
      end = endOfString(bytes, index + 1) + 1
      index = end - 1
    } else if (bytes[index] === 0x3a) {
      inText.push(JSON.parse(bytes.toString('utf8', start, end)) as string)
    }
  }
  const inValue: string[] = []
  collectNames(value, inValue)
  inText.sort()
  inValue.sort()
  const same = inText.length === inValue.length && inText.every((name, index) => name === inValue[index])
  if (!same) throw invalid('a member appears twice in one object, or its escaped name cannot be read.')
}

function collectNames(value: unknown, names: string[]): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) for (const name of Object.keys(value)) names.push(name)
  for (const item of Object.values(value)) collectNames(item, names)
}

/** Counts the colons outside strings, and refuses deep nesting before anything is built. */
function scan(bytes: Buffer): number {
  let members = 0
  let depth = 0
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case quote:
        index = endOfString(bytes, index + 1)
        break
      case 0x3a: // :
        members++
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxJsonDepth) throw invalid(`it is nested deeper than ${maxJsonDepth} levels.`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      default:
    }
  }
  return members
}

/** Index of the closing quote. Short strings byte by byte, long ones (base64) by native search. */
function endOfString(bytes: Buffer, start: number): number {
  const near = Math.min(bytes.length, start + 128)
  let index = start
  for (; index < near; index++) {
    const byte = bytes[index]
    if (byte === quote) return index
    if (byte === backslash) index++
  }
  for (;;) {
    const end = bytes.indexOf(quote, index)
    if (end === -1) return bytes.length
    let slashes = 0
    while (end - 1 - slashes >= index && bytes[end - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return end
    index = end + 1
  }
}

function countMembers(value: unknown, escapes: boolean): number {
  if (typeof value === 'string') {
    if (escapes && !value.isWellFormed()) throw invalid('a string holds half of a surrogate pair.')
    return 0
  }
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item, escapes)
    return members
  }
  for (const name in value) {
    if (name === '__proto__') throw invalid('a member must not be named __proto__.')
    if (escapes && !name.isWellFormed()) throw invalid('a member name holds half of a surrogate pair.')
    members += 1 + countMembers((value as Record<string, unknown>)[name], escapes)
  }
  return members
}

function invalid(what: string): Error {
  return failure('bad_request', `Invalid request body: ${what}`)
}
