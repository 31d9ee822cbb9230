import { type Change, change, insertInto, query } from '@warder/foundation/sql'
import { type ManagedObject, onlyIn } from '../../../keys/index.ts'
import { typedMemberNames } from '../stored/typed-attributes.ts'
import { type IndexedObject, indexRowsOf } from './index-rows.ts'

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
