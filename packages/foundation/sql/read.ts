import type { MaybePromise } from '../promises/and-then.ts'
import { andThen } from '../promises/and-then.ts'
import type { Database, Query, SqlValue } from './types.ts'

/** The first row, converted by `toValue`; synchronous on SQLite. */
export function readOne<P extends readonly SqlValue[], R, V>(
  db: Database,
  statement: Query<P, R>,
  params: P,
  toValue: (row: R) => V,
): MaybePromise<V | undefined> {
  return andThen(db.get(statement, params), (row) => (row === undefined ? undefined : toValue(row)))
}
