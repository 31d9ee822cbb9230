import { type Database, query } from '@warder/storage'

// Counts along the index of owners, and never further than the limit.
const owned = query<[owner: string, most: number], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM (SELECT 1 FROM managed_object WHERE owner = ? LIMIT ?) owned',
)

/** Objects that the owner has, `most` at most. */
export async function countOwned(db: Database, owner: string, most: number): Promise<number> {
  return (await db.get(owned, [owner, most]))?.count ?? 0
}
