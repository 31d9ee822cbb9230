import { hash } from 'node:crypto'
import { canonicalJson } from './canonical.ts'
import { escapeHidden } from './hidden-characters.ts'

/** Characters of JSON that the details of one record take at most. */
const mostCharacters = 16_384
/** JSON from requests has at most 64 levels. */
const mostLevels = 80
/** A member that does not fit gets at least this much: room for the note that says what was cut, and some text. */
const leastRoom = 160
/** Room for the note of an array or object, with its brackets. */
const noteRoom = 130
/** A text that is all note, or nearly. */
const leastText = 100
const mostNameCharacters = 256
const ellipsis = '…'

type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain }
type Members = readonly (readonly [name: string | undefined, value: Plain])[]

/**
 * The details of a record as canonical JSON, with what is hidden escaped, of at most 16 KiB. Details that fit are written whole. Otherwise the room is
 * shared equally among the members of each array and object, and what short members leave unused goes to the longer
 * ones: the longest members are cut first, and padding cannot push out a short member. Each cut leaves a note with
 * the length and the SHA-256 of what was there:
 *
 *   text     its beginning, then `…[cut: 20480 bytes, SHA-256 …]` (length and hash of the whole text in UTF-8)
 *   array    the members that fit in their order, then the text `…[cut: 400 of 1000 members, SHA-256 …]`
 *   object   the same with the note as the member `…` (hash of the canonical JSON of the whole array or object)
 */
export function boundedDetails(value: Readonly<Record<string, unknown>>): string {
  const short = plainTexts(value)
  if (short !== undefined) return short
  const plain = plainValue(value, 0)
  const json = written(plain)
  return json.length <= mostCharacters ? json : written(fitted(plain, json, mostCharacters))
}

/** Printable ASCII without `"` and `\\`: JSON writes it as it is, and nothing of it is hidden. */
const plainText = /^[ !#-[\]-~]*$/

/** Details as most operations have them, plain texts that fit, need only be put in order. @returns undefined for others */
function plainTexts(value: Readonly<Record<string, unknown>>): string | undefined {
  if ('toJSON' in value) return undefined
  let json = ''
  for (const name of Object.keys(value).sort()) {
    const member = value[name]
    if (member === undefined) continue
    if (typeof member !== 'string' || !plainText.test(member) || !plainText.test(name)) return undefined
    json += json === '' ? `{"${name}":"${member}"` : `,"${name}":"${member}"`
    if (json.length >= mostCharacters) return undefined
  }
  return json === '' ? '{}' : `${json}}`
}

/** A text of at most `room` characters; a longer one ends with a note. @param room at least 100 */
export function boundedText(text: string, room: number): string {
  const whole = text.toWellFormed()
  if (whole.length <= room) return whole
  const note = `${ellipsis}[cut: ${Buffer.byteLength(whole)} bytes, SHA-256 ${sha256(whole)}]`
  return `${whole.slice(0, room - note.length).toWellFormed()}${note}`
}

/** The value as JSON can hold it, with nothing secret in it: a `Secret` writes itself, bytes are told by their number. */
function plainValue(value: unknown, level: number): Plain {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return typeof value === 'boolean' ? value : null
  if (level >= mostLevels) return `${ellipsis}[cut: more than ${mostLevels} levels]`
  if (Array.isArray(value)) return value.map((item) => plainValue(item, level + 1))
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  // Objects with a life of their own (secrets, dates) decide how they are written.
  if ('toJSON' in value && typeof value.toJSON === 'function') return plainValue(value.toJSON(), level + 1)
  const members: [string, Plain][] = []
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) members.push([name.toWellFormed(), plainValue(member, level + 1)])
  return Object.fromEntries(members)
}

/** @param json of the value @param room characters of JSON, at least `leastRoom` */
function fitted(value: Plain, json: string, room: number): Plain {
  if (json.length <= room) return value
  if (typeof value === 'string') return fittedText(value, room)
  if (value === null || typeof value !== 'object') return value
  if (!Array.isArray(value)) {
    const { kept, note } = fittedMembers(value, Object.entries(value), room)
    return Object.fromEntries(note === undefined ? kept : [...kept, [ellipsis, note]])
  }
  const { kept, note } = fittedMembers(
    value,
    value.map((item) => [undefined, item] as const),
    room,
  )
  const items = kept.map(([, item]) => item)
  return note === undefined ? items : [...items, note]
}

/** JSON escapes can make a text several times longer: it is cut again until it fits. */
function fittedText(text: string, room: number): string {
  for (let length = room - 2; ; ) {
    const cut = boundedText(text, length)
    const over = written(cut).length - room
    if (over <= 0 || length <= leastText) return cut
    length = Math.max(leastText, length - Math.ceil(over / 6))
  }
}

interface Fitted {
  /** In the order they had. */
  readonly kept: readonly (readonly [name: string, value: Plain])[]
  readonly note: string | undefined
}

interface Sized {
  readonly place: number
  readonly name: string
  readonly value: Plain
  readonly json: string
  /** Characters that it takes beside the JSON of its value. */
  readonly overhead: number
}

/** Members are served from the shortest to the longest, each with an equal share of what is left. */
function fittedMembers(whole: Plain, members: Members, room: number): Fitted {
  const sized = members.map(([name, value], place): Sized => {
    const cutName = name === undefined ? '' : fittedName(name)
    const overhead = name === undefined ? 1 : written(cutName).length + 2
    return { place, name: cutName, value, json: written(value), overhead }
  })
  const shortestFirst = sized.toSorted((a, b) => a.json.length + a.overhead - b.json.length - b.overhead)
  const kept: { readonly place: number; readonly member: readonly [string, Plain] }[] = []
  let left = room - noteRoom
  let count = shortestFirst.length
  for (let index = 0; index < count; index += 1) {
    const { place, name, value, json, overhead } = shortestFirst[index] as Sized
    // The longest are left out when there is no room for a note on each of them.
    while (count > index && overhead + Math.min(json.length, leastRoom) > share(left, count - index))
      count -= 1
    if (count <= index) break
    const own = fitted(value, json, Math.floor(share(left, count - index)) - overhead)
    left -= overhead + written(own).length
    kept.push({ place, member: [name, own] })
  }
  const inOrder = kept.sort((a, b) => a.place - b.place).map(({ member }) => member)
  if (count === members.length) return { kept: inOrder, note: undefined }
  const cut = `${members.length - count} of ${members.length} members, SHA-256 ${sha256(canonicalJson(whole))}`
  return { kept: inOrder, note: `${ellipsis}[cut: ${cut}]` }
}

function share(left: number, count: number): number {
  return left / count
}

function fittedName(name: string): string {
  return boundedText(name, mostNameCharacters)
}

/** As it stands in the log. */
function written(value: Plain): string {
  return escapeHidden(canonicalJson(value))
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}
