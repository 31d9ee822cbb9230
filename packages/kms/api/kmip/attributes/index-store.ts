import { type Change, change, insertInto, query } from '@warder/foundation/sql'
import type { ManagedObject } from '../../../keys/index.ts'
import { type IndexedObject, type IndexRows, indexRowsOf } from './index-rows.ts'

const insertName = insertInto<[id: string, name: string, type: string]>('object_name', [
  'object_id',
  'name',
  'name_type',
])
const insertLink = insertInto<[id: string, type: string, linked: string]>('object_link', [
  'object_id',
  'link_type',
  'linked_id',
])
const insertValue = insertInto<[id: string, name: string, value: string]>('object_attribute', [
  'object_id',
  'name',
  'value',
])
const deleteName = query<[id: string, name: string], unknown>(
  'DELETE FROM object_name WHERE object_id = ? AND name = ?',
)
const deleteLink = query<[id: string, type: string, linked: string], unknown>(
  'DELETE FROM object_link WHERE object_id = ? AND link_type = ? AND linked_id = ?',
)
const deleteValue = query<[id: string, name: string, value: string], unknown>(
  'DELETE FROM object_attribute WHERE object_id = ? AND name = ? AND value = ?',
)

const nothing: IndexRows = { names: [], links: [], values: [] }

/** The members from which index rows are made. */
const indexed = [
  'kmip',
  'algorithm',
  'boundAlg',
  'archivedAt',
  'processStartAt',
  'protectStopAt',
  'usageLimits',
  'extractable',
  'sensitive',
  'neverExtractable',
  'alwaysSensitive',
] as const satisfies readonly (keyof IndexedObject)[]

function isIndexedAlike(before: IndexedObject, after: IndexedObject): boolean {
  return indexed.every((member) => before[member] === after[member])
}

/**
 * Brings the tables by which objects are found in line with their attributes: only what changed. Part of the commit
 * that changes the row, whose version guards these rows too.
 * @param before undefined for a new object
 */
export function indexChanges(before: ManagedObject | undefined, after: IndexedObject): Change[] {
  if (before !== undefined && isIndexedAlike(before, after)) return []
  const { id } = after
  const was = before === undefined ? nothing : indexRowsOf(before)
  const is = indexRowsOf(after)
  return [
    ...onlyIn(was.names, is.names).map(({ name }) => change(deleteName, [id, name])),
    ...onlyIn(is.names, was.names).map(({ name, type }) => change(insertName, [id, name, type])),
    ...onlyIn(was.links, is.links).map(({ type, linked }) => change(deleteLink, [id, type, linked])),
    ...onlyIn(is.links, was.links).map(({ type, linked }) => change(insertLink, [id, type, linked])),
    ...onlyIn(was.values, is.values).map(({ name, value }) => change(deleteValue, [id, name, value])),
    ...onlyIn(is.values, was.values).map(({ name, value }) => change(insertValue, [id, name, value])),
  ]
}

function onlyIn<R extends object>(these: readonly R[], others: readonly R[]): readonly R[] {
  if (these.length === 0 || others.length === 0) return these
  const known = new Set(others.map((row) => JSON.stringify(row)))
  return these.filter((row) => !known.has(JSON.stringify(row)))
}
