import type { Database, MaybePromise, Query, SqlValue } from './types.ts'

/** The first row, as what it stands for; synchronous on SQLite. */
export function readOne<P extends readonly SqlValue[], R, V>(
  db: Database,
  statement: Query<P, R>,
  params: P,
  toValue: (row: R) => V,
): MaybePromise<V | undefined> {
  const row = db.get(statement, params)
  if (row instanceof Promise) return row.then((late) => (late === undefined ? undefined : toValue(late)))
  return row === undefined ? undefined : toValue(row)
}
