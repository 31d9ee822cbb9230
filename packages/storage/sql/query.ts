import { BoundedMap, failure } from '@warder/base'
import type { Change, Database, Query, Row, SqlValue } from './types.ts'

/**
 * Declares a statement, once, at module level. `?` outside of string literals are its parameters.
 * @param text portable SQL for both engines
 */
export function query<P extends readonly SqlValue[], R = Row>(text: string): Query<P, R> {
  return Object.freeze({ text, numbered: numberPlaceholders(text) })
}

const queriesByText = new BoundedMap<string, Query<readonly SqlValue[], unknown>>(1000)

/** The same for a text that is built at run time, of which there are few: the statement is declared once for each text. */
export function queryOfText<P extends readonly SqlValue[], R>(text: string): Query<P, R> {
  const known = queriesByText.get(text) ?? query<readonly SqlValue[], unknown>(text)
  queriesByText.set(text, known)
  return known as unknown as Query<P, R>
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

/**
 * The one rule for texts that reach a database, whichever they came by: PostgreSQL has no U+0000 in a text, and both
 * engines would store another text in place of half of a surrogate pair (Unicode D75), so that two names became one.
 * @throws failure('bad_request')
 */
export function requireStorableText(params: readonly SqlValue[]): void {
  for (const value of params)
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
      throw failure('bad_request', 'A string must not contain the character U+0000 or an unpaired surrogate.')
}
