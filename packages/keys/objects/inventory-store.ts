import type { Database, Query, SqlValue } from '@warder/storage'
import { query } from '@warder/storage'
import { byDays } from './inventory-days.ts'
import { walkPiece } from './inventory-piece.ts'
import {
  conditionParameters,
  everything,
  type Found,
  type InventoryCursor,
  type InventoryFilter,
  isWalk,
  type Range,
  rules,
  statements,
  type Walk,
  type WalkCursor,
} from './inventory-walk-store.ts'
import type { ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'

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

/** Parameters of a walk behind a place, which is in the range of the walk. */
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
  /** The row that has its name. */
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
 * A page of keys. It walks an index from a place, not from a count: keys that are made, changed or removed meanwhile move
 * none of the others. One whose date changed between two pages may be seen where it was, where it is, or not.
 * @param after where the page before ended; of the same filter
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
/** For `IN (…)` of statements that `inSome` asks. */
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
