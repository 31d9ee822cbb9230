import { type Database, type Query, query, type SqlValue } from '@warder/foundation/sql'
import type { ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'
import type { State } from './state-machine.ts'

/** From the first moment on, before the second: Unix milliseconds, or days. */
export interface Range {
  readonly from: number
  readonly before: number
}

/** Which keys are listed. What is undefined restricts nothing. */
export interface InventoryFilter {
  /** undefined = of every owner. */
  readonly owner: string | undefined
  readonly tag?: string | undefined
  readonly algorithm?: string | undefined
  readonly boundAlg?: string | undefined
  readonly type?: string | undefined
  /** As it is at the moment of the question. */
  readonly state?: State | undefined
  readonly disabled?: boolean | undefined
  readonly awaitsDestruction?: boolean | undefined
  readonly created?: Range | undefined
  /** When the version was made that protects now; of a key that was never rotated as `created`. */
  readonly rotated?: Range | undefined
  /** By DeactivationDate; keys without one do not end. */
  readonly ends?: Range | undefined
  /** By the day of the last use, of keys that were never used by the day on which they were made. */
  readonly usedDay?: Range | undefined
}

interface WalkRule {
  /** A key is met by its first row, which has its name, or by that of its newest version. */
  readonly row: 'first' | 'newest'
  /** Condition shared by the rows; undefined = none. */
  readonly where?: string
  /** Column to sort by before the id: the list has its values of a range. */
  readonly sort?: string
}

const usedDay = 'COALESCE(first.last_used_day, first.created_at / 86400000)'

/** The orders in which a list is walked, each along an index; a list keeps to the one of its first page. */
const walks = {
  owner: { row: 'first', where: 'first.owner = ?' },
  all: { row: 'first' },
  tag: { row: 'first' },
  ends: { row: 'newest', where: 'newest.deactivation_at IS NOT NULL', sort: 'newest.deactivation_at' },
  used: { row: 'first', sort: usedDay },
  created: { row: 'first', sort: 'first.created_at' },
  rotated: { row: 'newest', sort: 'newest.created_at' },
  // The index leaves out the state that most keys have.
  state: { row: 'newest', where: "newest.state = ? AND newest.state <> 'Active'" },
  algorithm: { row: 'first', where: 'first.algorithm = ?' },
  disabled: { row: 'newest', where: 'newest.disabled_at IS NOT NULL' },
  waiting: { row: 'newest', where: 'newest.destruction_at IS NOT NULL' },
} as const satisfies Readonly<Record<string, WalkRule>>
type Walk = keyof typeof walks

export function isWalk(name: unknown): name is Walk {
  return typeof name === 'string' && Object.hasOwn(walks, name)
}

const rules: Readonly<Record<Walk, WalkRule>> = walks

/** Behind which row a page begins. */
export interface InventoryPlace {
  readonly walk: Walk
  /** Value of the sort column; 0 where the id alone sorts. */
  readonly value: number
  readonly id: string
}

/** Rows that one page looks at: whatever is asked, it takes no longer. */
const mostLooked = 1000
/** Keys of an owner that are walked as they are, whatever is asked of them: two pages. */
const fewOfOwner = 2000

const everything: Range = { from: Number.MIN_SAFE_INTEGER, before: Number.MAX_SAFE_INTEGER }

/** The state of a row as `stateAt` has it, with three parameters: the moment. */
const stateNow = `CASE
  WHEN newest.state = 'PreActive' AND newest.activation_at <= ? THEN
    CASE WHEN newest.deactivation_at <= ? THEN 'Deactivated' ELSE 'Active' END
  WHEN newest.state = 'Active' AND newest.deactivation_at <= ? THEN 'Deactivated'
  ELSE newest.state END`

// One text for all filters, so that requests do not choose what is prepared: what is not asked for is NULL. Name, owner,
// tags and use are those of the first row; state, end and what withholds it those of the newest version. `+ 0` keeps indexes away: a list is
// walked along the one of its order.
const conditions = `
  (CAST(? AS TEXT) IS NULL OR first.owner = ?)
  AND (CAST(? AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM object_tag t WHERE t.object_id = first.id AND t.tag = ?))
  AND (CAST(? AS TEXT) IS NULL OR first.algorithm = ?)
  AND (CAST(? AS TEXT) IS NULL OR first.bound_alg = ?)
  AND (CAST(? AS TEXT) IS NULL OR first.object_type = ?)
  AND (CAST(? AS TEXT) IS NULL OR ${stateNow} = ?)
  AND (CAST(? AS TEXT) IS NULL OR (newest.disabled_at IS NULL) = (CAST(? AS BIGINT) = 0))
  AND (CAST(? AS TEXT) IS NULL OR (newest.destruction_at IS NULL) = (CAST(? AS BIGINT) = 0))
  AND first.created_at + 0 >= ? AND first.created_at + 0 < ?
  AND newest.created_at + 0 >= ? AND newest.created_at + 0 < ?
  AND (CAST(? AS TEXT) IS NULL OR (newest.deactivation_at >= ? AND newest.deactivation_at < ?))
  AND ${usedDay} + 0 >= ? AND ${usedDay} + 0 < ?`

function conditionParameters(filter: InventoryFilter, now: number): SqlValue[] {
  const { owner, tag, algorithm, boundAlg, type, state, disabled, awaitsDestruction, ends } = filter
  const text = (value: string | undefined): SqlValue[] => [value ?? null, value ?? null]
  const flag = (value: boolean | undefined): SqlValue[] => [
    value === undefined ? null : String(value),
    Number(value ?? false),
  ]
  const created = filter.created ?? everything
  const rotated = filter.rotated ?? everything
  const used = filter.usedDay ?? everything
  return [
    ...text(owner),
    ...text(tag),
    ...text(algorithm),
    ...text(boundAlg),
    ...text(type),
    state ?? null,
    now,
    now,
    now,
    state ?? null,
    ...flag(disabled),
    ...flag(awaitsDestruction),
    created.from,
    created.before,
    rotated.from,
    rotated.before,
    ends === undefined ? null : 'ends',
    ends?.from ?? 0,
    ends?.before ?? 0,
    used.from,
    used.before,
  ]
}

/** A row of a walk: its place. */
interface Place {
  readonly id: string
  readonly value: number
}
interface Found extends Place {
  readonly kid: string
  readonly version_kid: string
  readonly last_used_day: number | null
}
type Statement<R> = Query<readonly SqlValue[], R>

interface WalkStatements {
  /** The last row that a page looks at; none if there are fewer. */
  readonly end: Statement<Place>
  /** Rows up to there that meet the conditions. */
  readonly some: Statement<Found>
  /** The same to the end of the walk, which is near. */
  readonly rest: Statement<Found>
}

/** One of the two rows leads to the other, in this order on both engines. */
const joined = {
  first: [
    'managed_object first CROSS JOIN managed_object newest',
    'newest.id = COALESCE(first.newest_id, first.id)',
  ],
  newest: [
    'managed_object newest CROSS JOIN managed_object first',
    'first.id = COALESCE(newest.chain_id, newest.id)',
  ],
} as const
const onlyKeys = { first: 'first.generation = 0', newest: 'newest.superseded_at IS NULL' } as const

function statementsOf(walk: Walk): WalkStatements {
  const { row, where, sort } = rules[walk]
  const byTag = walk === 'tag'
  const id = byTag ? 'tagged.object_id' : `${row}.id`
  // SQLite compares a pair by its index only where the first of it is a column; one of expressions is bounded by that alone.
  const beyond = (sign: '>' | '<=') => {
    if (sort === undefined) return `${id} ${sign} ?`
    const pair = `(${sort}, ${id}) ${sign} (?, ?)`
    return sort === usedDay ? `${sort} ${sign === '>' ? '>=' : '<='} ? AND ${pair}` : pair
  }
  const order = sort === undefined ? id : `${sort}, ${id}`
  const of = byTag ? 'tagged.tag = ?' : where
  const behind = [...(of === undefined ? [] : [of]), beyond('>')]
  // One bound on each side: with two of them SQLite walks to the further one.
  const toTheEnd = [...behind, ...(sort === undefined ? [] : [`${sort} < ?`])]
  const [tables, join] = joined[row]
  const from = byTag ? `object_tag tagged CROSS JOIN ${tables}` : tables
  const links = byTag ? ['first.id = tagged.object_id', join] : [join]
  const found = (bounds: readonly string[]) =>
    query<readonly SqlValue[], Found>(
      `SELECT ${id} AS id, ${sort ?? '0'} AS value, first.id AS kid, newest.id AS version_kid, first.last_used_day
         FROM ${from} WHERE ${[...bounds, ...links, onlyKeys[row], conditions].join(' AND ')} ORDER BY ${order} LIMIT ?`,
    )
  return {
    end: query(
      `SELECT ${id} AS id, ${sort ?? '0'} AS value FROM ${byTag ? 'object_tag tagged' : `managed_object ${row}`}
         WHERE ${toTheEnd.join(' AND ')} ORDER BY ${order} LIMIT 1 OFFSET ?`,
    ),
    some: found([...behind, beyond('<=')]),
    rest: found(toTheEnd),
  }
}

const statements = Object.fromEntries(
  Object.keys(walks).map((walk) => [walk, statementsOf(walk as Walk)]),
) as Readonly<Record<Walk, WalkStatements>>

const someOfOwner = query<[owner: string, most: number], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM (SELECT 1 AS one FROM managed_object WHERE owner = ? LIMIT ?) owned',
)

/** The walk that meets the fewest keys that are not asked for. */
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

function rangeOf(walk: Walk, filter: InventoryFilter): Range {
  if (walk === 'ends') return filter.ends ?? everything
  if (walk === 'rotated') return filter.rotated ?? everything
  return (walk === 'used' ? filter.usedDay : filter.created) ?? everything
}

/** A place as a walk compares it. */
function placeOf(walk: Walk, { value, id }: Pick<InventoryPlace, 'value' | 'id'>): SqlValue[] {
  const { sort } = rules[walk]
  if (sort === undefined) return [id]
  return sort === usedDay ? [value, value, id] : [value, id]
}

/** Parameters of a walk behind a place, which is in the range of the walk. */
function behindParameters(place: InventoryPlace, filter: InventoryFilter): SqlValue[] {
  const { walk } = place
  const behind = placeOf(walk, place)
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
  return rules[walk].sort === undefined ? [] : [rangeOf(walk, filter).before]
}

/** The first place of a walk. No id is empty. */
function beginOf(walk: Walk, filter: InventoryFilter): InventoryPlace {
  return { walk, value: rangeOf(walk, filter).from, id: '' }
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
  readonly next: InventoryPlace | undefined
}

/**
 * A page of keys. It walks an index from a place, not from a count: keys that are made, changed or removed meanwhile move
 * none of the others. One whose date changed between two pages may be seen where it was, where it is, or not.
 * @param after where the page before ended; of the same filter
 */
export async function inventoryPage(
  db: Database,
  filter: InventoryFilter,
  after: InventoryPlace | undefined,
  limit: number,
  now: number,
): Promise<InventoryPage> {
  const start = after ?? beginOf(await walkFor(db, filter), filter)
  const { walk } = start
  const { end, some, rest } = statements[walk]
  const begin = behindParameters(start, filter)
  const bound = endParameters(walk, filter)
  const last = await db.get(end, [...begin, ...bound, mostLooked - 1])
  const asked = [...conditionParameters(filter, now), limit + 1]
  const found =
    last === undefined
      ? await db.all(rest, [...begin, ...bound, ...asked])
      : await db.all(some, [...begin, ...placeOf(walk, last), ...asked])
  const shown = found.slice(0, limit)
  const keys = await listed(db, shown)
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
export async function objectsOf(
  db: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ManagedObject>> {
  return new Map((await inSome(db, byIds, ids)).map((row) => [row.id, toObject(row)]))
}

async function listed(db: Database, found: readonly Found[]): Promise<readonly Listed[]> {
  const ids = new Set(found.flatMap(({ kid, version_kid }) => [kid, version_kid]))
  const objects = await objectsOf(db, [...ids])
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
