import { type Change, change, type Database, query } from '@warder/foundation/sql'

const ofObject = query<[id: string], { readonly tag: string }>(
  'SELECT tag FROM object_tag WHERE object_id = ? ORDER BY tag',
)
const add = query<[id: string, tag: string], unknown>(
  'INSERT INTO object_tag (object_id, tag) VALUES (?, ?) ON CONFLICT DO NOTHING',
)
const remove = query<[id: string, tag: string], unknown>(
  'DELETE FROM object_tag WHERE object_id = ? AND tag = ?',
)
const removeAll = query<[id: string], unknown>('DELETE FROM object_tag WHERE object_id = ?')

/** Tags that one object can have. */
export const maxTags = 64

/** Tags of an object, sorted. */
export async function tagsOf(db: Database, id: string): Promise<readonly string[]> {
  return (await db.all(ofObject, [id])).map(({ tag }) => tag)
}

/** Adding a tag twice is no error. */
export function addTagChanges(id: string, tags: readonly string[]): Change[] {
  return tags.map((tag) => change(add, [id, tag]))
}

/** Removing a tag that is not there is no error. */
export function removeTagChanges(id: string, tags: readonly string[]): Change[] {
  return tags.map((tag) => change(remove, [id, tag]))
}

export function removeTags(id: string): Change {
  return change(removeAll, [id])
}
