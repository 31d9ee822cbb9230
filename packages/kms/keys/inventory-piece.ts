import type { Database, SqlValue } from '@warder/foundation/sql'
import type { Found, WalkCursor, WalkStatements } from './inventory-walk-store.ts'

/** Rows that one piece of a page looks at: whatever is asked, it takes no longer. */
export const maxScanned = 1000

/** What a part of a walk found. */
export interface Piece {
  /** As many as were wanted at most. */
  readonly found: readonly Found[]
  /** Where the look ended before the walk did. */
  readonly last: WalkCursor | undefined
}

/** A walk from a place on. */
export interface WalkFrom {
  readonly statements: WalkStatements
  /** Parameters of what is behind the place. */
  readonly begin: readonly SqlValue[]
  /** The end of the range, if there is one. */
  readonly bound: readonly SqlValue[]
  /** A place as the walk compares it. */
  last(place: WalkCursor): readonly SqlValue[]
}

/** @param asked as `conditionParameters` */
export async function walkPiece(
  db: Database,
  { statements: { end, some, rest }, begin, bound, last: placeOf }: WalkFrom,
  asked: readonly SqlValue[],
  wanted: number,
): Promise<Piece> {
  const last = await db.get(end, [...begin, ...bound, maxScanned - 1])
  const found =
    last === undefined
      ? await db.all(rest, [...begin, ...bound, ...asked, wanted])
      : await db.all(some, [...begin, ...placeOf(last), ...asked, wanted])
  return { found, last }
}
