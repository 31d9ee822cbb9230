import { createHash } from 'node:crypto'
import { type Change, change, insertInto, query } from '@warder/foundation/sql'
import { Tag, tagText } from '@warder/kmip/tables'
import {
  boolean,
  dateTime,
  encodeTtlv,
  interval,
  type StructureNode,
  sameValue,
  type TtlvNode,
} from '@warder/kmip/ttlv'
import { indexedText, isUuid, type ManagedObject, onlyIn } from '../../../keys/index.ts'
import { abeAttributes } from '../stored/abe-attributes.ts'
import { usualAlgorithm } from '../stored/stored-algorithm.ts'
import { type AttributeMembers, storedAttributes } from '../stored/stored-attributes.ts'
import { typedMemberNames } from '../stored/typed-attributes.ts'
import { attributeRule } from './attribute-rules.ts'
import { type VendorName, vendorNameOf } from './attribute-vendor.ts'
import { defaultLease, shortIdentifier } from './attribute-view.ts'

export interface ValueRow {
  readonly name: string
  readonly value: string
}

export type IndexedObject = AttributeMembers &
  Pick<ManagedObject, 'id' | 'type' | 'form' | 'algorithm' | 'boundAlg' | 'archivedAt'>

/**
 * The rows of an object in `object_attribute`, by which it is found: the attributes that the table of rules calls indexed (structures
 * by their members), the algorithm where it is not the one of the column, what is not as it is for most objects
 * (Sensitive, Fresh …), when it was archived, and the short identifier where it is no part of a UUID.
 */
function indexRowsOf(object: IndexedObject): readonly ValueRow[] {
  const values = new Map<string, ValueRow>()
  const add = (name: string, value: string): void => {
    values.set(`${name} ${value}`, { name, value })
  }
  const stored = storedAttributes(object)
  for (const node of object.form.abe === undefined ? stored : [...stored, ...abeAttributes(object)]) {
    // Those have tables of their own (`keys/name-link-tag-store.ts`).
    if (node.tag === Tag.Name || node.tag === Tag.Link) continue
    for (const { name, value } of rowsOf(object, node)) add(name, value)
  }
  if (object.archivedAt !== undefined)
    add('ArchiveDate', indexValue(dateTime(Tag.ArchiveDate, Math.floor(object.archivedAt / 1000))))
  if (!isUuid(object.id)) add('ShortUniqueIdentifier', shortText(shortIdentifier(object.id)))
  return [...values.values()]
}

/** Values that most objects have: only others have rows. */
const usual: ReadonlyMap<number, TtlvNode> = new Map(
  [
    boolean(Tag.Sensitive, false),
    boolean(Tag.AlwaysSensitive, false),
    boolean(Tag.Extractable, true),
    boolean(Tag.NeverExtractable, false),
    boolean(Tag.Fresh, true),
    interval(Tag.LeaseTime, defaultLease),
  ].map((node) => [node.tag, node]),
)

/** The value that an object has without a row; undefined for attributes that it then does not have. */
export function usualValue(tag: number): TtlvNode | undefined {
  return usual.get(tag)
}

function rowsOf(object: IndexedObject, node: TtlvNode): readonly ValueRow[] {
  const rule = attributeRule(node.tag)
  if (rule === undefined) return []
  if (node.tag === Tag.Attribute) {
    const named = vendorNameOf(node)
    const value =
      node.type === 'Structure' ? node.value.find(({ tag }) => tag === Tag.AttributeValue) : undefined
    return named === undefined || value === undefined
      ? []
      : [{ name: vendorIndexName(named), value: indexValue(value) }]
  }
  const most = node.tag === Tag.CryptographicAlgorithm ? usualAlgorithm(object) : usualValue(node.tag)
  const isUnusual = most === undefined ? node.tag === Tag.CryptographicAlgorithm : !sameValue(node, most)
  if (!rule.indexed && !isUnusual) return []
  if (node.type !== 'Structure') return [{ name: rule.name, value: indexValue(node) }]
  return node.value.map((member) => ({ name: memberIndexName(node, member), value: indexValue(member) }))
}

/** Index name for the values of a member of a structure. */
export function memberIndexName(parent: StructureNode, member: TtlvNode): string {
  return `${tagText(parent.tag)}.${tagText(member.tag)}`
}

/** Index name for the values of a vendor's attribute. */
export function vendorIndexName({ vendor, name }: VendorName): string {
  return indexedText(`Attribute ${JSON.stringify([vendor, name])}`)
}

export function shortText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Seconds that make every date positive: the range of a DateTime. */
const dateOffset = 8_640_000_000_000
const dateDigits = 14

/**
 * The text by which equal values are found: numbers and short text as they are, dates as digits that sort by time,
 * anything else as the SHA-256 of its encoding.
 */
export function indexValue(node: TtlvNode): string {
  switch (node.type) {
    case 'DateTime':
      return String(node.value + dateOffset).padStart(dateDigits, '0')
    case 'Integer':
    case 'Interval':
    case 'Enumeration':
    case 'Boolean':
    case 'LongInteger':
      return String(node.value)
    case 'TextString':
      return `=${indexedText(node.value)}`
    default:
      return `#${createHash('sha256').update(encodeTtlv(node)).digest('base64url')}`
  }
}

const insertValue = insertInto<[id: string, name: string, value: string]>('object_attribute', [
  'object_id',
  'name',
  'value',
])
const deleteValue = query<[id: string, name: string, value: string], unknown>(
  'DELETE FROM object_attribute WHERE object_id = ? AND name = ? AND value = ?',
)

/** The members from which index rows are made. */
const indexed: readonly (keyof IndexedObject)[] = [
  'kmip',
  'algorithm',
  'boundAlg',
  'archivedAt',
  ...typedMemberNames,
]

function isIndexedAlike(before: IndexedObject, after: IndexedObject): boolean {
  return indexed.every((member) => before[member] === after[member])
}

/**
 * Brings the table by which objects are found in line with their attributes: only what changed. Part of the commit
 * that changes the row, whose version guards these rows too.
 * @param before undefined for a new object
 */
export function indexChanges(before: ManagedObject | undefined, after: IndexedObject): Change[] {
  if (before !== undefined && isIndexedAlike(before, after)) return []
  const { id } = after
  const was = before === undefined ? [] : indexRowsOf(before)
  const is = indexRowsOf(after)
  return [
    ...onlyIn(was, is).map(({ name, value }) => change(deleteValue, [id, name, value])),
    ...onlyIn(is, was).map(({ name, value }) => change(insertValue, [id, name, value])),
  ]
}
