import { createHash } from 'node:crypto'
import { type Change, change, insertInto, query } from '@warder/storage'
import { ruleNamed, type StoredValue } from '../attributes/attribute-table.ts'
import {
  commonValue,
  enumerationNumber,
  indexValue,
  memberIndexName,
  vendorIndexName,
  vendorValue,
} from '../attributes/index-value.ts'
import { toKmipAlgorithm } from '../attributes/key-names.ts'
import { toStoredValue } from '../attributes/object-attributes.ts'
import type { ManagedObject } from './managed-object.ts'
import { onlyIn } from './name-link-tag-store.ts'
import { isUuid } from './object-id.ts'

/** A row of `object_attribute` without the identifier of its object. */
export interface ValueRow {
  readonly name: string
  readonly value: string
}

/** The members from which index rows are made. */
const indexedMembers = [
  'attributes',
  'form',
  'algorithm',
  'boundAlg',
  'archivedAt',
  'processStartAt',
  'protectStopAt',
  'extractable',
  'sensitive',
  'neverExtractable',
  'alwaysSensitive',
] as const satisfies readonly (keyof ManagedObject)[]

type IndexedObject = Pick<ManagedObject, 'id' | (typeof indexedMembers)[number]>

const insertValue = insertInto<[id: string, name: string, value: string]>('object_attribute', [
  'object_id',
  'name',
  'value',
])
const deleteValue = query<[id: string, name: string, value: string], unknown>(
  'DELETE FROM object_attribute WHERE object_id = ? AND name = ? AND value = ?',
)

/**
 * Updates the search table after a change of attributes, only the rows that differ. Part of the commit that changes the
 * object's row, whose version guards these rows too.
 * @param before undefined for a new object
 */
export function attributeIndexChanges(before: IndexedObject | undefined, after: IndexedObject): Change[] {
  if (before !== undefined && indexedMembers.every((member) => before[member] === after[member])) return []
  const { id } = after
  const was = before === undefined ? [] : indexRows(before)
  const is = indexRows(after)
  return [
    ...onlyIn(was, is).map(({ name, value }) => change(deleteValue, [id, name, value])),
    ...onlyIn(is, was).map(({ name, value }) => change(insertValue, [id, name, value])),
  ]
}

/**
 * The search rows of an object in `object_attribute`: the attributes that the table marks as indexed (structures by
 * their members), the algorithm if it differs from the column, values that differ from the common ones (Sensitive,
 * Fresh …), the archive date, and the short identifier if it is not part of a UUID. Names, links and tags have tables
 * of their own (`name-link-tag-store.ts`).
 */
function indexRows(object: IndexedObject): readonly ValueRow[] {
  const rows = new Map<string, ValueRow>()
  for (const stored of [...object.attributes.values, ...memberValues(object)])
    for (const row of rowsFor(object, stored)) rows.set(`${row.name} ${row.value}`, row)
  return [...rows.values()]
}

/** The indexed values among the members of the object. */
function memberValues(object: IndexedObject): readonly StoredValue[] {
  const { processStartAt, protectStopAt, archivedAt, form, id } = object
  return [
    ...(processStartAt === undefined ? [] : [toStoredValue('ProcessStartDate', processStartAt)]),
    ...(protectStopAt === undefined ? [] : [toStoredValue('ProtectStopDate', protectStopAt)]),
    ...(object.sensitive ? [toStoredValue('Sensitive', true)] : []),
    ...(object.alwaysSensitive ? [toStoredValue('AlwaysSensitive', true)] : []),
    ...(object.extractable ? [] : [toStoredValue('Extractable', false)]),
    ...(object.neverExtractable ? [toStoredValue('NeverExtractable', true)] : []),
    ...(archivedAt === undefined ? [] : [toStoredValue('ArchiveDate', archivedAt)]),
    ...(isUuid(id) ? [] : [toStoredValue('ShortUniqueIdentifier', shortIdentifier(id))]),
    ...(form.abe?.policy === undefined ? [] : [policyValue(form.abe.policy)]),
  ]
}

/** Vendor of the attributes of attribute-based keys: the deployed product's name. */
export const abeVendor = 'cosmian'
export const abePolicyAttribute = 'cover_crypt_access_policy'

/** The vendor attribute with the policy of a user key. */
function policyValue(policy: string): StoredValue {
  return {
    tag: 'Attribute',
    type: 'Structure',
    value: [
      { tag: 'VendorIdentification', type: 'TextString', value: abeVendor },
      { tag: 'AttributeName', type: 'TextString', value: abePolicyAttribute },
      { tag: 'AttributeValue', type: 'ByteString', value: Buffer.from(policy, 'utf8').toString('hex') },
    ],
  }
}

/** 16 bytes instead of the text: those of a UUID, else the beginning of its SHA-256 (KMIP 2.1 §4.56). */
export function shortIdentifier(id: string): Uint8Array {
  if (isUuid(id)) return Buffer.from(id.replaceAll('-', ''), 'hex')
  return createHash('sha256').update(id).digest().subarray(0, 16)
}

function rowsFor(object: IndexedObject, stored: StoredValue): readonly ValueRow[] {
  const { tag, value } = stored
  const rule = ruleNamed(tag)
  if (rule === undefined) return []
  if (tag === 'Attribute') return vendorRows(stored)
  // By its hexadecimal digits, because clients search for a part of them.
  if (tag === 'ShortUniqueIdentifier') return [{ name: tag, value: String(value).toLowerCase() }]
  if (!rule.indexed && tag !== 'ArchiveDate' && !isUncommon(object, stored)) return []
  if (!Array.isArray(value)) return [{ name: tag, value: indexValue(stored) }]
  return value.map((member: StoredValue) => ({
    name: memberIndexName(tag, member.tag),
    value: indexValue(member),
  }))
}

function isUncommon(object: IndexedObject, { tag, value }: StoredValue): boolean {
  if (tag === 'CryptographicAlgorithm')
    return algorithmNumber(value) !== algorithmNumber(toKmipAlgorithm(object))
  const common = commonValue(tag)
  return common !== undefined && common !== value
}

function algorithmNumber(name: StoredValue['value'] | undefined): number | undefined {
  return name === undefined ? undefined : enumerationNumber('CryptographicAlgorithm', String(name))
}

function vendorRows(stored: StoredValue): readonly ValueRow[] {
  const { value } = stored
  if (!Array.isArray(value)) return []
  const member = (name: string): StoredValue | undefined => value.find(({ tag }) => tag === name)
  const [vendor, name, held] = [
    member('VendorIdentification'),
    member('AttributeName'),
    member('AttributeValue'),
  ]
  if (typeof vendor?.value !== 'string' || typeof name?.value !== 'string' || held === undefined) return []
  return [{ name: vendorIndexName(vendor.value, name.value), value: vendorValue(stored, held) }]
}
