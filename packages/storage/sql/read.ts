import type { Database, Query, SqlValue } from './types.ts'

/** The first row, converted by `toValue`. */
export async function readOne<P extends readonly SqlValue[], R, V>(
  db: Database,
  statement: Query<P, R>,
  params: P,
  toValue: (row: R) => V,
): Promise<V | undefined> {
  const row = await db.get(statement, params)
  return row === undefined ? undefined : toValue(row)
}
