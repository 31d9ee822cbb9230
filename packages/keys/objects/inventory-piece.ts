import type { Database, SqlValue } from '@warder/storage'
import type { Found, WalkCursor, WalkStatements } from './inventory-walk-store.ts'

/** Max rows that one part of a page scans: it bounds the time for any filter. */
export const maxScanned = 1000

/** The result of one part of a scan. */
export interface Piece {
  /** At most the requested number. */
  readonly found: readonly Found[]
  /** The position at which this part stopped before the end of the scan. */
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
