import { isUtf8 } from 'node:buffer'
import { failure } from './errors.ts'
import { isJsonText } from './json-grammar.ts'

/** Up to here JSON.parse costs less than another scan of the bytes. */
const smallTextBytes = 64 * 1024

/** Maximum nesting of arrays and objects in a body. */
const maxJsonDepth = 64

/**
 * Maximum number of values and names in a body. Each takes up to three microseconds to build, compare and check, which
 * blocks the thread. A batch of a thousand items has some fourteen thousand.
 */
export const maxJsonValues = 100_000

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const letterU = 0x75

/**
 * Reads a JSON text (RFC 8259) strictly: fatal UTF-8, no byte order mark, nesting at most 64, at most 100,000
 * values and names, no member twice in one object (RFC 7493 §2.3), no member named `__proto__`, no member name with a
 * backslash (docs/adr/http-requests.md), no lone surrogates (RFC 7493 §2.1), no U+0000.
 *
 * JSON.parse silently uses the last of two equal members, so two parsers may read two different messages. One scan
 * counts the members in the text and one walk counts those in the value: the value has fewer exactly when a member
 * appears twice.
 *
 * Throws failure('bad_request'); no sentence repeats a value of the body.
 */
export function parseJsonBody(body: Uint8Array): unknown {
  return parseStrictJson(body, bodyLimits)
}

/** Limits that differ between kinds of JSON texts. */
interface JsonLimits {
  /** Maximum nesting of arrays and objects. */
  readonly maxDepth: number
  /** Whether a member name may be written with an escape. */
  readonly escapedNames: boolean
}

const bodyLimits: JsonLimits = { maxDepth: maxJsonDepth, escapedNames: true }

/** As `parseJsonBody`, within other limits. */
function parseStrictJson(body: Uint8Array, limits: JsonLimits): unknown {
  if (!isUtf8(body)) throw invalid('it is not valid UTF-8.')
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const { members, escapes, escapedNames } = scan(bytes, limits.maxDepth)
  if (escapedNames && !limits.escapedNames) throw invalid('a member name is written with an escape.')
  if (bytes.length > smallTextBytes && !isJsonText(bytes)) throw invalid('it is not valid JSON.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    // The engine's message quotes the text, which may be a secret: it is not even kept as a cause.
    throw invalid('it is not valid JSON.')
  }
  // Only an escape can make an unpaired surrogate or U+0000: the bytes are valid UTF-8 (RFC 8259 §7).
  if (countMembers(value, escapes) !== members) throw invalid('a member appears twice in one object.')
  return value
}

const backslashNamed = 'a member name contains a backslash.'

interface ScanResult {
  /** Colons outside strings. */
  readonly members: number
  readonly escapes: boolean
  readonly escapedNames: boolean
}

/** Refuses deep nesting and too many values before anything is built. */
function scan(bytes: Buffer, maxDepth: number): ScanResult {
  const escapes = bytes.includes(backslash)
  let members = 0
  let values = 1
  let depth = 0
  let name = 0
  let checked = -1
  let slash = -1
  let escapedNames = false
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case quote:
        name = index
        index = findStringEnd(bytes, index + 1)
        continue
      case colon:
        members++
        if (escapes && name !== checked) {
          checked = name
          // Each search starts at the last result, so all searches together scan the body once.
          if (slash < name) slash = indexOrEnd(bytes, backslash, name)
          if (slash < index) {
            escapedNames = true
            if (namesBackslash(bytes, slash, index)) throw invalid(backslashNamed)
          }
        }
        break
      case 0x2c: // ,
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth) throw invalid(`it is nested deeper than ${maxDepth} levels.`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        continue
      default:
        continue
    }
    if (++values > maxJsonValues) throw invalid(`it has more than ${maxJsonValues} values and names.`)
  }
  return { members, escapes, escapedNames }
}

/**
 * Index of the closing quote. Short strings are scanned byte by byte, long ones (base64) by native search, which would be
 * too slow if repeated for many escaped quotes.
 */
function findStringEnd(bytes: Uint8Array, start: number): number {
  for (let index = start; ; ) {
    const near = Math.min(bytes.length, index + 128)
    for (; index < near; index++) {
      const byte = bytes[index]
      if (byte === quote) return index
      if (byte === backslash) index++
    }
    const end = bytes.indexOf(quote, index)
    if (end === -1) return bytes.length
    let slashes = 0
    while (end - 1 - slashes >= index && bytes[end - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return end
    index = end + 1
  }
}

/** Whether the rest of a JSON string from `start` on encodes a backslash: `\\` or `\u005c`. */
function namesBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    if (bytes[index] !== backslash) continue
    const after = bytes[++index]
    if (after === backslash) return true
    if (after === letterU && bytes.toString('latin1', index + 1, index + 5).toLowerCase() === '005c')
      return true
  }
  return false
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found === -1 ? bytes.length : found
}

function countMembers(value: unknown, escapes: boolean): number {
  if (typeof value === 'string') {
    if (escapes) requireStorable(value, 'string')
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
    if (escapes) {
      // The scan let none through: this is a name that JSON.parse read wrongly (docs/adr/http-requests.md).
      if (name.includes('\\')) throw invalid(backslashNamed)
      requireStorable(name, 'member name')
    }
    members += 1 + countMembers((value as Record<string, unknown>)[name], escapes)
  }
  return members
}

/** Refuses lone surrogates (RFC 7493 §2.1) and U+0000, which ends a text in PostgreSQL and in C. */
function requireStorable(text: string, what: string): void {
  if (!text.isWellFormed()) throw invalid(`a ${what} contains an unpaired surrogate.`)
  if (text.includes('\0')) throw invalid(`a ${what} contains the character U+0000.`)
}

function invalid(what: string): Error {
  return failure('bad_request', `Invalid request body: ${what}`)
}

const limits: JsonLimits = { maxDepth: 16, escapedNames: false }

/**
 * Parses JSON of a token or key set as strictly as security needs: an object, and in addition to the checks of
 * `parseJsonBody` for (valid UTF-8, no member twice at any depth, so that a second `iss` or `alg` never wins over the
 * first; no `__proto__`) at most 16 levels deep and no member name written with an escape: no issuer needs one, and the
 * engine's JSON.parse has read such names wrongly.
 * @returns undefined when it is anything else
 */
export function parseStrictObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  let value: unknown
  try {
    value = parseStrictJson(bytes, limits)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as Readonly<Record<string, unknown>>
}
