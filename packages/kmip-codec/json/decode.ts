import { Buffer, isUtf8 } from 'node:buffer'
import { isDraftType } from '../tables/draft.ts'
import { findMask, type ItemType } from '../tables/enumerations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { tagByName } from '../tables/tags.ts'
import {
  Budget,
  parseDate,
  parseEnumeration,
  parseHex,
  parseMask,
  parsePrefixed64,
  valueTag,
} from '../text.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import { type DecodeLimits, fits, type StructureNode, shortest, type TtlvNode } from '../ttlv/node.ts'
import { type JsonNode, unwrapMembers } from './dialect.ts'

/**
 * Reads a JSON value other than a structure, in every accepted form.
 * @throws KmipDecodeError `invalid_value` or `unknown_enumeration`
 */
function scalarNode(
  tag: number,
  type: Exclude<ItemType, 'Structure'>,
  value: unknown,
  attributeName: string | undefined,
  draft: boolean,
): TtlvNode {
  const node = scalar(tag, type, value, attributeName, draft)
  if (node === undefined || !fits(node))
    throw new KmipDecodeError('invalid_value', `The value is not valid for the type ${type}.`)
  return node
}

function scalar(
  tag: number,
  type: Exclude<ItemType, 'Structure'>,
  value: unknown,
  attributeName: string | undefined,
  draft: boolean,
): TtlvNode | undefined {
  switch (type) {
    case 'Integer': {
      const number = readInteger(value, valueTag(tag, attributeName))
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'Interval': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: Number(number) }
    }
    case 'LongInteger':
    case 'DateTimeExtended': {
      const number = wholeNumber(value)
      return number === undefined ? undefined : { tag, type, value: number }
    }
    case 'Enumeration': {
      // A mask is an Integer; `tolerances.ts` names the client that sends an Enumeration.
      if (findMask(valueTag(tag, attributeName)) !== undefined)
        return scalar(tag, 'Integer', value, attributeName, draft)
      if (typeof value === 'number') return { tag, type, value }
      return typeof value === 'string'
        ? { tag, type, value: parseEnumeration(valueTag(tag, attributeName), value, draft) }
        : undefined
    }
    case 'Boolean': {
      const truth = readBoolean(value)
      return truth === undefined ? undefined : { tag, type, value: truth }
    }
    case 'DateTime': {
      if (typeof value === 'number') return { tag, type, value }
      return typeof value === 'string' ? { tag, type, value: parseDate(value) } : undefined
    }
    case 'TextString':
    case 'Identifier':
    case 'Reference':
    case 'NameReference':
      return typeof value === 'string' ? { tag, type, value } : undefined
    case 'ByteString':
      return typeof value === 'string' ? { tag, type, value: parseHex(value) } : undefined
    case 'BigInteger': {
      const bytes = readBigInteger(value)
      return bytes === undefined ? undefined : { tag, type, value: bytes }
    }
  }
}

function readInteger(value: unknown, meaning: number): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return undefined
  const hex = parsePrefixed64(value)
  if (hex === undefined) return parseMask(meaning, value)
  // 8 digits are the 32 bits; 16 digits are sign-extended (KMIP Profiles 2.1 §5.5).
  return value.length <= 10 ? Number(BigInt.asIntN(32, hex)) : Number(hex)
}

/** A whole number that JSON represents without loss, or `0x…`. */
function wholeNumber(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  return typeof value === 'string' ? parsePrefixed64(value) : undefined
}

function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  const hex = parsePrefixed64(value)
  return hex === 0n || hex === 1n ? hex === 1n : undefined
}

function readBigInteger(value: unknown): Uint8Array | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) return undefined
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return shortest(bytes)
  }
  if (typeof value !== 'string' || !/^0x/i.test(value) || value.length === 2) return undefined
  return shortest(parseHex(value.slice(2)))
}

/**
 * Reads JSON TTLV (KMIP Profiles 2.1 §5.5). Tolerant: the order of the members tag, type and value does not
 * matter, `type` may be left out of structures, names are read in any spelling and as `0x…`, hex digits in
 * either case, masks as numbers, hex or names, and extra structures of older clients are unwrapped (see
 * `dialect.ts`).
 * @param text JSON, or its UTF-8 bytes
 * @throws KmipDecodeError for everything else
 */
export function decodeJson(text: string | Uint8Array, limits: DecodeLimits = {}): TtlvNode {
  return decodeParsed(parseRoot(text), limits)
}

/**
 * Name and contents of the root of a JSON body, before it is parsed into nodes: in a bare request the name is
 * an operation.
 */
export function parseRoot(text: string | Uint8Array): JsonNode {
  const source = typeof text === 'string' ? text : utf8Text(text)
  if (hasEscapedName(source))
    throw new KmipDecodeError('malformed_json', 'A member name must not contain an escape.')
  let parsed: unknown
  try {
    parsed = JSON.parse(source)
  } catch (error) {
    if (error instanceof KmipDecodeError) throw error
    throw new KmipDecodeError('malformed_json', 'The body is not JSON.')
  }
  return shape(parsed)
}

/** Reads a JSON body that `parseRoot` has parsed. */
export function decodeParsed(root: JsonNode, limits: DecodeLimits = {}): TtlvNode {
  return new JsonReader(limits).node(root, 1)
}

/** Reads the members of a bare request as a structure with this tag. */
export function decodeMembers(tag: number, members: unknown, limits: DecodeLimits = {}): StructureNode {
  const node = new JsonReader(limits).node({ name: '', tag, type: 'Structure', value: members }, 1)
  if (node.type !== 'Structure') throw new KmipDecodeError('wrong_member', 'A request must be a structure.')
  return node
}

function utf8Text(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new KmipDecodeError('invalid_text', 'The body is not UTF-8.')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/**
 * Whether a member name contains an escape. No name of this encoding needs one, and JSON.parse can return
 * another name for it after some earlier texts (docs/adr/http-requests.md).
 */
function hasEscapedName(text: string): boolean {
  if (!text.includes('\\')) return false
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = closingQuote(text, start + 1)
    if (end === -1) return false
    if (text.slice(start, end).includes('\\')) {
      let after = end + 1
      while (' \t\r\n'.includes(text.charAt(after)) && after < text.length) after++
      if (text[after] === ':') return true
    }
    start = text.indexOf('"', end + 1)
  }
  return false
}

function closingQuote(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return end
  }
  return -1
}

/** The three members of a node; others are ignored. */
function shape(value: unknown): JsonNode {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !('tag' in value))
    throw new KmipDecodeError(
      'malformed_json',
      'A node must be an object with the members tag, type and value.',
    )
  const { tag } = value
  const type = 'type' in value ? value.type : undefined
  if (typeof tag !== 'string' || (type !== undefined && typeof type !== 'string'))
    throw new KmipDecodeError('malformed_json', 'The members tag and type of a node must be strings.')
  return { name: tag, tag: tagByName(tag), type, value: 'value' in value ? value.value : undefined }
}

const typeByName: ReadonlyMap<string, ItemType> = new Map(
  (
    [
      'Structure',
      'Integer',
      'LongInteger',
      'BigInteger',
      'Enumeration',
      'Boolean',
      'TextString',
      'ByteString',
      'DateTime',
      'Interval',
      'DateTimeExtended',
      'Identifier',
      'Reference',
      'NameReference',
    ] as const
  ).flatMap((type, index) => [
    [type, type],
    [type.toLowerCase(), type],
    [`0x0${(index + 1).toString(16)}`, type],
  ]),
)

function itemType(name: string, draft: boolean): ItemType {
  const type = typeByName.get(name) ?? (name.length <= 20 ? typeByName.get(name.toLowerCase()) : undefined)
  if (type === undefined || (isDraftType(type) && !draft))
    throw new KmipDecodeError('unknown_type', 'A node has an unknown type.')
  return type
}

class JsonReader {
  readonly #budget: Budget
  readonly #draft: boolean

  constructor(limits: DecodeLimits) {
    this.#budget = new Budget(limits)
    this.#draft = limits.draft ?? false
  }

  node(json: JsonNode, depth: number, attributeName?: string): TtlvNode {
    this.#budget.take(depth)
    const tag = json.tag ?? (this.#draft ? tagByName(json.name, true) : undefined)
    if (tag === undefined) throw new KmipDecodeError('unknown_tag', 'A node has an unknown tag.')
    const type = json.type === undefined ? 'Structure' : itemType(json.type, this.#draft)
    if (type !== 'Structure') return scalarNode(tag, type, json.value, attributeName, this.#draft)
    return { tag, type, value: this.#members(json.value, depth + 1) }
  }

  #members(value: unknown, depth: number): TtlvNode[] {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value))
      throw new KmipDecodeError('malformed_json', 'The value of a structure must be an array of nodes.')
    this.#budget.refuseBeyond(value.length)
    const shapes = value.map(shape)
    // The draft has no client that needs another form.
    const members = this.#draft ? shapes : unwrapMembers(shapes, shape)
    const attributeName = findAttributeName(members)
    return members.map((member) => this.node(member, depth, attributeName))
  }
}

/** The text of AttributeName, at any position among its siblings. */
function findAttributeName(members: readonly JsonNode[]): string | undefined {
  for (const { tag, value } of members)
    if (tag === Tag.AttributeName && typeof value === 'string') return value
  return undefined
}
