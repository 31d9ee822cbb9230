import type { ObjectId } from '@warder/keys'
import { type Database, query, readOne } from '@warder/storage'

/** Objects whose wrapping key, of the same owner, has a newer version than the one that wraps them. */
const stale = query<[after: string, limit: number], { readonly id: string }>(
  `SELECT DISTINCT l.object_id AS id FROM object_link l
     JOIN managed_object k ON k.id = l.linked_id
     JOIN managed_object o ON o.id = l.object_id
     WHERE l.link_type = 'WrappingKeyLink' AND l.object_id > ?
       AND k.superseded_at IS NOT NULL AND k.owner = o.owner AND o.destroyed_at IS NULL
     ORDER BY l.object_id LIMIT ?`,
)
const newestRotation = query<[], { readonly at: number | null }>(
  'SELECT MAX(superseded_at) AS at FROM managed_object WHERE superseded_at IS NOT NULL',
)

/** A page of their identifiers. @param after the last identifier of the previous page; '' for the first page */
export async function staleWrappings(
  db: Database,
  after: string,
  limit: number,
): Promise<readonly ObjectId[]> {
  return (await db.all(stale, [after, limit])).map(({ id }) => id as ObjectId)
}

/** When a key version was last replaced, in Unix milliseconds; undefined: never. */
export async function lastRotation(db: Database): Promise<number | undefined> {
  return await readOne(db, newestRotation, [], ({ at }) => at ?? undefined)
}
