import { requireStorableText } from './storable-text.ts'
import type { Change, Query, Row, SqlValue } from './types.ts'

/**
 * Declares a statement, once, at module level. `?` outside of string literals are its parameters.
 * @param text portable SQL for both engines
 */
export function query<P extends readonly SqlValue[], R = Row>(text: string): Query<P, R> {
  return Object.freeze({ text, numbered: numberPlaceholders(text) })
}

/**
 * One change of a commit; `expect` = rows it must touch, else the whole commit is taken back.
 * @throws failure('bad_request') for a text that cannot be stored
 */
export function change<P extends readonly SqlValue[]>(
  statement: Query<P, unknown>,
  params: P,
  expect?: number,
): Change {
  requireStorableText(params)
  const untyped = statement as Query<readonly SqlValue[], unknown>
  return expect === undefined ? { query: untyped, params } : { query: untyped, params, expect }
}

/** `INSERT INTO table (a, b) VALUES (?, ?)`, parameters in the order of the columns. */
export function insertInto<P extends readonly SqlValue[]>(
  table: string,
  columns: readonly string[],
): Query<P, Row> {
  const marks = columns.map(() => '?').join(', ')
  return query(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`)
}

function numberPlaceholders(text: string): string {
  let number = 0
  return text.replace(/'[^']*'|\?/g, (found) => {
    if (found !== '?') return found
    number += 1
    return `$${number}`
  })
}
