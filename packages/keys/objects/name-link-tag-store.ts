import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import { toIndexText } from '../attributes/index-value.ts'
import type { ManagedObject } from './managed-object.ts'

// Names and links are stored in the row of the object; `object_name` and `object_link` are the tables to search by
// them.

const insertName = insertInto<[id: string, name: string, type: string]>('object_name', [
  'object_id',
  'name',
  'name_type',
])
const insertLink = insertInto<[id: string, kind: string, linked: string]>('object_link', [
  'object_id',
  'link_type',
  'linked_id',
])
const deleteName = query<[id: string, name: string], unknown>(
  'DELETE FROM object_name WHERE object_id = ? AND name = ?',
)
const deleteLink = query<[id: string, kind: string, linked: string], unknown>(
  'DELETE FROM object_link WHERE object_id = ? AND link_type = ? AND linked_id = ?',
)
const deleteNames = query<[id: string], unknown>('DELETE FROM object_name WHERE object_id = ?')
const deleteLinks = query<[id: string, id: string], unknown>(
  'DELETE FROM object_link WHERE object_id = ? OR linked_id = ?',
)

type Named = Pick<ManagedObject, 'id' | 'names' | 'links'>

/**
 * Updates the tables after a change of an object, only the rows that differ. Part of the commit that changes the
 * object's row, whose version guards these rows too.
 * @param before undefined for a new object
 */
export function nameLinkChanges(before: Named | undefined, after: Named): Change[] {
  if (after.names === before?.names && after.links === before.links) return []
  const { id } = after
  const [oldNames, names] = [nameRows(before), nameRows(after)]
  const [oldLinks, links] = [linkRows(before), linkRows(after)]
  return [
    ...onlyIn(oldNames, names).map(([name]) => change(deleteName, [id, name])),
    ...onlyIn(names, oldNames).map(([name, type]) => change(insertName, [id, name, type])),
    ...onlyIn(oldLinks, links).map(([kind, linked]) => change(deleteLink, [id, kind, linked])),
    ...onlyIn(links, oldLinks).map(([kind, linked]) => change(insertLink, [id, kind, linked])),
  ]
}

/** Of an object that goes away, the links of others to it among them. */
export function removeNamesAndLinks(id: string): Change[] {
  return [change(deleteNames, [id]), change(deleteLinks, [id, id])]
}

type Pair = readonly [string, string]

/** One row per name; the last one if a name is present with two types. */
function nameRows(object: Named | undefined): readonly Pair[] {
  return [...new Map(object?.names.map(({ name, type }) => [toIndexText(name), type]))]
}

function linkRows(object: Named | undefined): readonly Pair[] {
  const rows = (object?.links ?? []).map(({ kind, id }): Pair => [kind, toIndexText(id)])
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

/** The rows that are not among the others, compared by their values. */
export function onlyIn<R extends object>(these: readonly R[], others: readonly R[]): readonly R[] {
  if (these.length === 0 || others.length === 0) return these
  const known = new Set(others.map((row) => JSON.stringify(row)))
  return these.filter((row) => !known.has(JSON.stringify(row)))
}

const tagsOfObject = query<[id: string], { readonly tag: string }>(
  'SELECT tag FROM object_tag WHERE object_id = ? ORDER BY tag',
)
const addTag = query<[id: string, tag: string], unknown>(
  'INSERT INTO object_tag (object_id, tag) VALUES (?, ?) ON CONFLICT DO NOTHING',
)
const removeTag = query<[id: string, tag: string], unknown>(
  'DELETE FROM object_tag WHERE object_id = ? AND tag = ?',
)
const removeAllTags = query<[id: string], unknown>('DELETE FROM object_tag WHERE object_id = ?')

/** Tags that one object can have. */
export const maxTags = 64

/** Tags of an object, sorted. */
export async function findTags(db: Database, id: string): Promise<readonly string[]> {
  return (await db.all(tagsOfObject, [id])).map(({ tag }) => tag)
}

const tagsOfHalves = query<
  [chain: string, linked: string, id: string, id: string, id: string, owner: string],
  { readonly tag: string }
>(
  `SELECT tag FROM object_tag WHERE object_id = ? OR object_id IN (
     SELECT COALESCE(chain_id, id) FROM managed_object WHERE id IN (
       SELECT id FROM managed_object WHERE id = ? OR linked_id = ?
       UNION ALL SELECT linked_id FROM object_link
         WHERE object_id = ? AND link_type IN ('PublicKeyLink', 'PrivateKeyLink')
       UNION ALL SELECT object_id FROM object_link
         WHERE linked_id = ? AND link_type IN ('PublicKeyLink', 'PrivateKeyLink')
     ) AND owner = ?)
   ORDER BY tag`,
)

/** Members of an object that identify the other half of its pair. */
export type PairMember = Pick<ManagedObject, 'id' | 'owner'> &
  Partial<Pick<ManagedObject, 'chainId' | 'linkedId'>>

/**
 * Tags of an object's key and, of a pair, of its other half: a rule for tags that covers one half covers both. The halves
 * know each other by the pair itself or by links, in either direction, and have one owner.
 */
export async function tagsOfPair(
  db: Database,
  { id, owner, chainId, linkedId }: PairMember,
): Promise<readonly string[]> {
  const params = [chainId ?? id, linkedId ?? id, id, id, id, owner] as const
  return (await db.all(tagsOfHalves, [...params])).map(({ tag }) => tag)
}

/** Ids of the other half of a pair, by the links of an object. */
export function otherHalfIds({
  linkedId,
  links,
}: Pick<ManagedObject, 'linkedId' | 'links'>): readonly string[] {
  const linked = links.filter(({ kind }) => kind === 'PublicKeyLink' || kind === 'PrivateKeyLink')
  return [...(linkedId === undefined ? [] : [linkedId]), ...linked.map((link) => link.id)]
}

/** Adding a tag twice is no error. */
export function addTagChanges(id: string, tags: readonly string[]): Change[] {
  return tags.map((tag) => change(addTag, [id, tag]))
}

/** Removing a tag that is not there is no error. */
export function removeTagChanges(id: string, tags: readonly string[]): Change[] {
  return tags.map((tag) => change(removeTag, [id, tag]))
}

export function removeTags(id: string): Change {
  return change(removeAllTags, [id])
}
