import { attributeRule, isTagName, readVendorName } from '@warder/keys'
import {
  boolean,
  Enumeration,
  enumeration,
  findMember,
  type KmipVersion,
  Tag,
  type TtlvNode,
  tagText,
} from '@warder/kmip-codec'
import { isGoneFrom, isLaterThan } from '../attributes/attribute-view.ts'
import { kmipFailure } from '../failure/failure.ts'
import { type DecodedPayload, definePayload, field } from '../payloads/payload.ts'

/** One condition that an object must meet to be found. */
export type Term =
  /** An attribute with this value; `locate-match.ts` defines the match for each type. */
  | { readonly kind: 'value'; readonly node: TtlvNode }
  /** A date within a range that includes both ends. Seconds since 1970. */
  | { readonly kind: 'range'; readonly tag: number; readonly from: number; readonly to: number }
  /** All of these tags. */
  | { readonly kind: 'tags'; readonly tags: readonly string[] }
  /** A user key of attribute-based encryption. */
  | { readonly kind: 'user key' }

/** Criteria of a Locate request (KMIP 2.1 §6.1.28). */
export interface Criteria {
  /** All of them must hold. */
  readonly terms: readonly Term[]
  readonly storage: StorageStatuses
  /** Only the default object of the group: the one that was created last. */
  readonly onlyDefault: boolean
  /** Number of objects to skip. */
  readonly offset: number
  /** Maximum number of objects to return; undefined: the request sets none. */
  readonly maxItems: number | undefined
}

export interface StorageStatuses {
  readonly online: boolean
  readonly archived: boolean
  readonly destroyed: boolean
}

/** Maximum number of terms in one request. */
const maxTerms = 64

/** The members of a Locate request. */
export const locateRequest = definePayload({
  maximumItems: field.integer(Tag.MaximumItems),
  offsetItems: field.integer(Tag.OffsetItems),
  storageStatusMask: field.integer(Tag.StorageStatusMask),
  objectGroupMember: field.code(Tag.ObjectGroupMember),
  attributes: field.attributes(Tag.Attributes),
})

/**
 * Reads a Locate request. If it contains an attribute twice, the object must have both values; two dates of the same
 * attribute are a range.
 * @throws kmipFailure InvalidAttribute, InvalidField; KmipDecodeError
 */
export function readCriteria(
  request: DecodedPayload<typeof locateRequest>,
  version: KmipVersion = '2.1',
): Criteria {
  const { attributes: nodes, objectGroupMember: member } = request
  const fresh = member === Enumeration.ObjectGroupMember.GroupMemberFresh
  const terms = toTerms(fresh ? [...nodes, boolean(Tag.Fresh, true)] : nodes, version)
  if (terms.length > maxTerms)
    throw kmipFailure('InvalidField', `At most ${maxTerms} attributes can be asked for at once.`)
  return {
    terms,
    storage: readStatuses(request.storageStatusMask),
    onlyDefault: member === Enumeration.ObjectGroupMember.GroupMemberDefault,
    offset: notNegative(request.offsetItems, Tag.OffsetItems) ?? 0,
    maxItems: notNegative(request.maximumItems, Tag.MaximumItems),
  }
}

/** Objects that are neither archived nor destroyed, unless the mask says otherwise. */
function readStatuses(mask: number | undefined): StorageStatuses {
  const bits = mask ?? Enumeration.StorageStatusMask.OnLineStorage
  return {
    online: (bits & Enumeration.StorageStatusMask.OnLineStorage) !== 0,
    archived: (bits & Enumeration.StorageStatusMask.ArchivalStorage) !== 0,
    destroyed: (bits & Enumeration.StorageStatusMask.DestroyedStorage) !== 0,
  }
}

function notNegative(value: number | undefined, tag: number): number | undefined {
  if (value !== undefined && value < 0) throw kmipFailure('InvalidField', `${tagText(tag)} is negative.`)
  return value
}

function toTerms(nodes: readonly TtlvNode[], version: KmipVersion): readonly Term[] {
  const dates = new Map<number, number[]>()
  const tags = new Set<string>()
  const terms: Term[] = []
  for (const node of nodes) {
    const rule = attributeRule(node.tag)
    if (rule === undefined || isGoneFrom(version, rule) || isLaterThan(version, rule))
      throw kmipFailure('InvalidAttribute', `${tagText(node.tag)} is no attribute to search by.`)
    if (node.type !== rule.type)
      throw kmipFailure('InvalidField', `${rule.name} must be of type ${rule.type}.`)
    if (node.type === 'DateTime') {
      const values = dates.get(node.tag)
      if (values === undefined) dates.set(node.tag, [node.value])
      else values.push(node.value)
    } else if (isTags(node)) {
      for (const tag of listTags(node)) tags.add(tag)
    } else terms.push({ kind: 'value', node })
  }
  terms.push(...tagTerms([...tags]))
  for (const [tag, values] of dates) {
    if (values.length > 2) throw kmipFailure('InvalidField', `${tagText(tag)} is there more than twice.`)
    const from = Math.min(...values)
    const to = Math.max(...values)
    terms.push(
      values.length === 2
        ? { kind: 'range', tag, from, to }
        : { kind: 'value', node: { tag, type: 'DateTime', value: from } },
    )
  }
  return terms
}

/** Tags that represent the type of an object. */
const typeTags: Readonly<Record<string, number>> = {
  _kk: Enumeration.ObjectType.SymmetricKey,
  _sk: Enumeration.ObjectType.PrivateKey,
  _pk: Enumeration.ObjectType.PublicKey,
  _cert: Enumeration.ObjectType.Certificate,
  _sd: Enumeration.ObjectType.SecretData,
  _oo: Enumeration.ObjectType.OpaqueObject,
}
/** The tag that represents user keys of attribute-based encryption, which have no separate type. */
const userKeyTag = '_uk'
const maxTags = 16

function isTags(node: TtlvNode): boolean {
  if (node.tag !== Tag.Attribute) return false
  const named = readVendorName(node)
  if (named === undefined)
    throw kmipFailure('InvalidField', 'A vendor attribute names its vendor and itself.')
  return isTagName(named)
}

/** Terms that the database can search come first. */
const userKeyTerms: readonly Term[] = [
  { kind: 'value', node: enumeration(Tag.ObjectType, Enumeration.ObjectType.PrivateKey) },
  {
    kind: 'value',
    node: enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.CoverCrypt),
  },
  { kind: 'user key' },
]

function tagTerms(tags: readonly string[]): readonly Term[] {
  if (tags.length > maxTags)
    throw kmipFailure('InvalidField', `At most ${maxTags} tags can be asked for at once.`)
  const types: Term[] = tags.flatMap((tag): readonly Term[] => {
    const type = typeTags[tag]
    return type === undefined ? [] : [{ kind: 'value', node: enumeration(Tag.ObjectType, type) }]
  })
  const others = tags.filter((tag) => typeTags[tag] === undefined && tag !== userKeyTag)
  if (tags.includes(userKeyTag)) types.push(...userKeyTerms)
  return others.length === 0 ? types : [...types, { kind: 'tags', tags: others }]
}

/** A JSON array of texts, or one text alone. */
function listTags(node: TtlvNode): readonly string[] {
  const value = node.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
  const text =
    value?.type === 'ByteString'
      ? Buffer.from(value.value).toString('utf8')
      : value?.type === 'TextString'
        ? value.value
        : undefined
  const list = text === undefined ? [] : parseList(text)
  if (!list.every((tag) => typeof tag === 'string'))
    throw kmipFailure('InvalidField', 'Tags are a JSON array of texts.')
  return list
}

function parseList(text: string): readonly unknown[] {
  if (!text.startsWith('[')) return [text]
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : [list]
  } catch {
    return [text]
  }
}
