import { type Database, query } from '@warder/storage'

const ids = query<[after: string, most: number], { readonly id: string }>(
  'SELECT id FROM managed_object WHERE id > ? AND material IS NOT NULL ORDER BY id LIMIT ?',
)

/** Objects with material and a greater id, in the order of their ids. */
export async function idsAfter(db: Database, after: string, most: number): Promise<readonly string[]> {
  return (await db.all(ids, [after, most])).map(({ id }) => id)
}
