import type { Database, SqlValue } from '@warder/storage'
import { maxScanned, type Piece, walkPiece } from './inventory-piece.ts'
import { ofOneDay, statements, type WalkCursor } from './inventory-walk-store.ts'

/**
 * Reads a part of the inventory by the day of the last use. A day can have any number of keys, and SQLite cannot
 * compare the pair of day and id by an index over an expression. So the first query reads the rest of the cursor's day
 * by ids, the next one whole days, and the last one the last day up to the last id: each is bounded by its index on
 * both sides.
 * @param before day before which the range ends
 * @param asked as `conditionParameters`
 */
export async function byDays(
  db: Database,
  { value: day, id }: WalkCursor,
  before: number,
  asked: readonly SqlValue[],
  wanted: number,
): Promise<Piece> {
  const isBegun = id !== ''
  const head = isBegun ? await restOfDay(db, day, id, asked, wanted) : { found: [], last: undefined }
  const left = wanted - head.found.length
  if (head.last !== undefined || left === 0) return head
  const { end, rest } = statements.used
  const from = isBegun ? day + 1 : day
  const last = await db.get(end, [from, before, maxScanned - 1])
  const whole = await db.all(rest, [from, last?.value ?? before, ...asked, left])
  const found = [...head.found, ...whole]
  if (last === undefined || whole.length === left) return { found, last }
  const ofLast = await db.all(ofOneDay.some, [last.value, '', last.id, ...asked, left - whole.length])
  return { found: [...found, ...ofLast.map((row) => ({ ...row, value: last.value }))], last }
}

async function restOfDay(
  db: Database,
  day: number,
  id: string,
  asked: readonly SqlValue[],
  wanted: number,
): Promise<Piece> {
  const walk = { statements: ofOneDay, begin: [day, id], bound: [], last: (place: WalkCursor) => [place.id] }
  const { found, last } = await walkPiece(db, walk, asked, wanted)
  return {
    found: found.map((row) => ({ ...row, value: day })),
    last: last && { value: day, id: last.id },
  }
}
