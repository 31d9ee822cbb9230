import { type Database, type Query, query, type SqlValue } from '@warder/storage'
import {
  conditionParameters,
  everything,
  type Found,
  type InventoryCursor,
  type InventoryFilter,
  isWalk,
  ofOneDay,
  type Range,
  rules,
  statements,
  type Walk,
  type WalkCursor,
  type WalkStatements,
} from './inventory-walk-store.ts'
import type { ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'

/** Max rows that one part of a page scans: it bounds the time for any filter. */
const maxScanned = 1000

/** The result of one part of a scan. */
interface Piece {
  /** At most the requested number. */
  readonly found: readonly Found[]
  /** The position at which this part stopped before the end of the scan. */
  readonly last: WalkCursor | undefined
}

/** A walk from a place on. */
interface WalkFrom {
  readonly statements: WalkStatements
  /** Parameters of the condition "after this place". */
  readonly begin: readonly SqlValue[]
  /** The end of the range, if there is one. */
  readonly bound: readonly SqlValue[]
  /** A place as the walk compares it. */
  last(place: WalkCursor): readonly SqlValue[]
}

/** @param asked as `conditionParameters` */
async function walkPiece(
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

export { type InventoryCursor, type InventoryFilter, isWalk, type Range }

/** Max keys of an owner that are scanned without an index of the filter: two pages. */
const fewOfOwner = 2000

const someOfOwner = query<[owner: string, most: number], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM (SELECT 1 AS one FROM managed_object WHERE owner = ? LIMIT ?) owned',
)

/** The scan that reads the fewest keys outside of the filter. */
async function walkFor(db: Database, filter: InventoryFilter): Promise<Walk> {
  const { owner, state } = filter
  if (owner !== undefined) {
    const { count = 0 } = (await db.get(someOfOwner, [owner, fewOfOwner + 1])) ?? {}
    if (count <= fewOfOwner) return 'owner'
  }
  if (filter.awaitsDestruction === true) return 'waiting'
  if (filter.disabled === true) return 'disabled'
  if (filter.tag !== undefined) return 'tag'
  if (filter.ends !== undefined) return 'ends'
  // Keys whose end has not been written down yet are left out, for a minute (`persistDates`).
  if (state !== undefined && state !== 'Active') return 'state'
  if (filter.usedDay !== undefined) return 'used'
  if (filter.rotated !== undefined) return 'rotated'
  if (filter.created !== undefined) return 'created'
  if (filter.algorithm !== undefined) return 'algorithm'
  return owner === undefined ? 'all' : 'owner'
}

function selectRange(walk: Walk, filter: InventoryFilter): Range {
  if (walk === 'ends') return filter.ends ?? everything
  if (walk === 'rotated') return filter.rotated ?? everything
  return (walk === 'used' ? filter.usedDay : filter.created) ?? everything
}

/** A place as a walk compares it. */
function toCursorParameters(walk: Walk, { value, id }: WalkCursor): SqlValue[] {
  return rules[walk].sort === undefined ? [id] : [value, id]
}

/** Parameters of a walk that continues after a place within its range. */
function behindParameters(place: InventoryCursor, filter: InventoryFilter): SqlValue[] {
  const { walk } = place
  const behind = toCursorParameters(walk, place)
  switch (walk) {
    case 'owner':
    case 'tag':
    case 'state':
    case 'algorithm':
      return [filter[walk] ?? '', ...behind]
    default:
      return behind
  }
}

/** The end of the range of a walk, if it has one. */
function endParameters(walk: Walk, filter: InventoryFilter): SqlValue[] {
  return rules[walk].sort === undefined ? [] : [selectRange(walk, filter).before]
}

/** The first place of a walk. No id is empty. */
function firstCursor(walk: Walk, filter: InventoryFilter): InventoryCursor {
  return { walk, value: selectRange(walk, filter).from, id: '' }
}

/** A key of a page. */
export interface Listed {
  /** The row with the name of the key. */
  readonly key: ManagedObject
  /** The version that protects; of a key that was never rotated the same row. */
  readonly newest: ManagedObject
  /** Days since 1970 in UTC; undefined = never. */
  readonly lastUsedDay: number | undefined
}

export interface InventoryPage {
  readonly keys: readonly Listed[]
  /** Beginning of the next page: a page need not be full to have one. undefined = the end. */
  readonly next: InventoryCursor | undefined
}

/**
 * A page of keys. The cursor is a position in an index, not an offset, so keys that are created, changed or removed
 * between two pages do not shift the others. A key whose date changed between two pages may appear at its old or
 * new position, or not at all.
 * @param after end of the previous page; with the same filter
 */
export async function inventoryPage(
  db: Database,
  filter: InventoryFilter,
  after: InventoryCursor | undefined,
  limit: number,
  now: number,
): Promise<InventoryPage> {
  const start = after ?? firstCursor(await walkFor(db, filter), filter)
  const asked = conditionParameters(filter, now)
  const { walk } = start
  const { found, last } =
    walk === 'used'
      ? await byDays(db, start, selectRange(walk, filter).before, asked, limit + 1)
      : await walkPiece(
          db,
          {
            statements: statements[walk],
            begin: behindParameters(start, filter),
            bound: endParameters(walk, filter),
            last: (place) => toCursorParameters(walk, place),
          },
          asked,
          limit + 1,
        )
  const shown = found.slice(0, limit)
  const keys = await toListed(db, shown)
  const place = found.length > limit ? shown.at(-1) : last
  return { keys, next: place === undefined ? undefined : { walk, value: place.value, id: place.id } }
}

const perStatement = 100
/** For `IN (…)` of statements of `inSome`. */
export const marks = Array.from({ length: perStatement }, () => '?').join(', ')
const byIds = query<string[], ObjectRow>(`SELECT ${objectColumns} FROM managed_object WHERE id IN (${marks})`)
const tagsByIds = query<string[], { readonly object_id: string; readonly tag: string }>(
  `SELECT object_id, tag FROM object_tag WHERE object_id IN (${marks}) ORDER BY object_id, tag`,
)

/** Asks for many rows with one text, which has `perStatement` marks. */
export async function inSome<R>(
  db: Database,
  statement: Query<string[], R>,
  ids: readonly string[],
): Promise<R[]> {
  const rows: R[] = []
  for (let from = 0; from < ids.length; from += perStatement) {
    const some = ids.slice(from, from + perStatement)
    // No object has an empty id.
    const filled = [...some, ...Array.from({ length: perStatement - some.length }, () => '')]
    rows.push(...(await db.all(statement, filled)))
  }
  return rows
}

/** Objects by their ids; those that are not there are left out. */
export async function findObjectsByIds(
  db: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ManagedObject>> {
  return new Map((await inSome(db, byIds, ids)).map((row) => [row.id, toObject(row)]))
}

async function toListed(db: Database, found: readonly Found[]): Promise<readonly Listed[]> {
  const ids = new Set(found.flatMap(({ kid, version_kid }) => [kid, version_kid]))
  const objects = await findObjectsByIds(db, [...ids])
  return found.flatMap(({ kid, version_kid, last_used_day: day }) => {
    const [key, newest] = [objects.get(kid), objects.get(version_kid)]
    // Gone since it was found.
    if (key === undefined || newest === undefined) return []
    return [{ key, newest, lastUsedDay: day ?? undefined }]
  })
}

/** Tags of many objects, those of the service itself (`_…`) left out. */
export async function tagsOfMany(
  db: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const tags = new Map<string, string[]>()
  for (const { object_id: id, tag } of await inSome(db, tagsByIds, ids)) {
    if (tag.startsWith('_')) continue
    const own = tags.get(id)
    if (own === undefined) tags.set(id, [tag])
    else own.push(tag)
  }
  return tags
}

/**
 * Reads a part of the inventory by the day of the last use. A day can have any number of keys, and SQLite cannot
 * compare the pair of day and id by an index over an expression. So the first query reads the rest of the cursor's day
 * by ids, the next one whole days, and the last one the last day up to the last id: each is bounded by its index on
 * both sides.
 * @param before day before which the range ends
 * @param asked as `conditionParameters`
 */
async function byDays(
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
