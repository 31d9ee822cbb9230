import { hash } from 'node:crypto'
import { escapeHidden } from '@warder/base'

/** Maximum characters of JSON for the details of one record. */
const maxCharacters = 16_384
/** JSON from requests has at most 64 levels. */
const maxLevels = 80
/** Minimum for a member that does not fit: the note about the cut, and some text. */
const minRoom = 160
/** Room for the note of an array or object, with its brackets. */
const noteRoom = 130
/** Minimum length of a cut text, which is then mostly the note. */
const minTextLength = 100
const maxNameLength = 256
const ellipsis = '…'

type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain }
type Members = readonly (readonly [name: string | undefined, value: Plain])[]

/**
 * The details of a record as canonical JSON of at most 16 KiB, with hidden characters escaped. Details that
 * fit are written whole. Otherwise the room is shared equally among the members of each array and object, and
 * what short members leave unused goes to the longer ones: the longest members are cut first, and padding
 * cannot push out a short member. Each cut leaves a note with the length and the SHA-256 of the removed
 * value:
 *
 *   text     its beginning, then `…[cut: 20480 bytes, SHA-256 …]` (length and hash of the whole text in
 *   UTF-8) array    the members that fit in their order, then the text `…[cut: 400 of 1000 members, SHA-256
 *   …]` object   the same with the note as the member `…` (hash of the canonical JSON of the whole array or
 *   object)
 */
export function formatDetails(value: Readonly<Record<string, unknown>>): string {
  const short = formatPlainTexts(value)
  if (short !== undefined) return short
  const plain = toPlain(value, 0)
  const json = serialize(plain)
  return json.length <= maxCharacters ? json : serialize(fitValue(plain, json, maxCharacters))
}

/** Printable ASCII without `"` and `\\`: JSON writes it as it is, and nothing of it is hidden. */
const plainText = /^[ !#-[\]-~]*$/

/** Plain texts that fit, the usual details, need only be sorted. @returns undefined for others */
function formatPlainTexts(value: Readonly<Record<string, unknown>>): string | undefined {
  if ('toJSON' in value) return undefined
  let json = ''
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member === undefined) continue
    if (typeof member !== 'string' || !plainText.test(member) || !plainText.test(name)) return undefined
    json += json === '' ? `{"${name}":"${member}"` : `,"${name}":"${member}"`
    if (json.length >= maxCharacters) return undefined
  }
  return json === '' ? '{}' : `${json}}`
}

/** A text of at most `room` characters; a longer one ends with a note. @param room at least 100 */
export function truncateText(text: string, room: number): string {
  const whole = text.toWellFormed()
  if (whole.length <= room) return whole
  const note = `${ellipsis}[cut: ${Buffer.byteLength(whole)} bytes, SHA-256 ${sha256(whole)}]`
  return `${whole.slice(0, room - note.length).toWellFormed()}${note}`
}

/** The value as JSON, without secrets: a `Secret` serializes itself, bytes become their number. */
function toPlain(value: unknown, level: number): Plain {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return typeof value === 'boolean' ? value : null
  if (level >= maxLevels) return `${ellipsis}[cut: more than ${maxLevels} levels]`
  if (Array.isArray(value)) return value.map((item) => toPlain(item, level + 1))
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  // Objects with `toJSON` (secrets, dates) serialize themselves.
  if ('toJSON' in value && typeof value.toJSON === 'function') return toPlain(value.toJSON(), level + 1)
  const members: [string, Plain][] = []
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) members.push([name.toWellFormed(), toPlain(member, level + 1)])
  return Object.fromEntries(members)
}

/** @param json of the value @param room characters of JSON, at least `minRoom` */
function fitValue(value: Plain, json: string, room: number): Plain {
  if (json.length <= room) return value
  if (typeof value === 'string') return fitText(value, room)
  if (value === null || typeof value !== 'object') return value
  if (!Array.isArray(value)) {
    const { kept, note } = fitMembers(value, Object.entries(value), room)
    return Object.fromEntries(note === undefined ? kept : [...kept, [ellipsis, note]])
  }
  const { kept, note } = fitMembers(
    value,
    value.map((item) => [undefined, item] as const),
    room,
  )
  const items = kept.map(([, item]) => item)
  return note === undefined ? items : [...items, note]
}

/** JSON escapes can make a text several times longer: it is cut again until it fits. */
function fitText(text: string, room: number): string {
  for (let length = room - 2; ; ) {
    const cut = truncateText(text, length)
    const over = serialize(cut).length - room
    if (over <= 0 || length <= minTextLength) return cut
    length = Math.max(minTextLength, length - Math.ceil(over / 6))
  }
}

interface FittedMembers {
  /** In the order they had. */
  readonly kept: readonly (readonly [name: string, value: Plain])[]
  readonly note: string | undefined
}

interface SizedMember {
  readonly position: number
  readonly name: string
  readonly value: Plain
  readonly json: string
  /** Its characters in addition to the JSON of its value. */
  readonly overhead: number
}

/** Fits members from the shortest to the longest, each into an equal share of the remaining room. */
function fitMembers(whole: Plain, members: Members, room: number): FittedMembers {
  const sized = members.map(([name, value], position): SizedMember => {
    const cutName = name === undefined ? '' : fitName(name)
    const overhead = name === undefined ? 1 : serialize(cutName).length + 2
    return { position, name: cutName, value, json: serialize(value), overhead }
  })
  const shortestFirst = sized.toSorted((a, b) => a.json.length + a.overhead - b.json.length - b.overhead)
  const kept: { readonly position: number; readonly member: readonly [string, Plain] }[] = []
  let left = room - noteRoom
  let count = shortestFirst.length
  for (let index = 0; index < count; index += 1) {
    const { position, name, value, json, overhead } = shortestFirst[index] as SizedMember
    // The longest members are dropped when there is no room for a note on each.
    while (count > index && overhead + Math.min(json.length, minRoom) > equalShare(left, count - index))
      count -= 1
    if (count <= index) break
    const own = fitValue(value, json, Math.floor(equalShare(left, count - index)) - overhead)
    left -= overhead + serialize(own).length
    kept.push({ position, member: [name, own] })
  }
  const inOrder = kept.sort((a, b) => a.position - b.position).map(({ member }) => member)
  if (count === members.length) return { kept: inOrder, note: undefined }
  const cut = `${members.length - count} of ${members.length} members, SHA-256 ${sha256(canonicalJson(whole))}`
  return { kept: inOrder, note: `${ellipsis}[cut: ${cut}]` }
}

function equalShare(left: number, count: number): number {
  return left / count
}

function fitName(name: string): string {
  return truncateText(name, maxNameLength)
}

/** The JSON text of the log. */
function serialize(value: Plain): string {
  return escapeHidden(canonicalJson(value))
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

/**
 * Canonical JSON (RFC 8785): members sorted by UTF-16 code units, numbers and strings as ECMAScript writes them.
 * Lone surrogates become U+FFFD first, so that a text and its UTF-8 bytes are the same record. `undefined` is left out.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('the number is not representable in JSON')
    return JSON.stringify(value)
  }
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed())
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} is not representable in JSON`)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => [name.toWellFormed(), member] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
