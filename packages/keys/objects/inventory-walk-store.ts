import { type Query, query, type SqlValue } from '@warder/storage'
import type { State } from './state-machine.ts'

/** From the first moment on, before the second: Unix milliseconds, or days. */
export interface Range {
  readonly from: number
  readonly before: number
}

/** Filter of the listed keys. Undefined members do not restrict. */
export interface InventoryFilter {
  /** undefined = of every owner. */
  readonly owner: string | undefined
  readonly tag?: string | undefined
  readonly algorithm?: string | undefined
  readonly boundAlg?: string | undefined
  readonly type?: string | undefined
  /** Excludes objects of this type. */
  readonly excludedType?: string | undefined
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

/** When a key was used last, or made: days since 1970 in UTC. */
const usedDay = 'COALESCE(first.last_used_day, first.created_at / 86400000)'

/** The orders in which a list is walked, each along an index; all pages of a list use the order of its first page. */
const walks = {
  owner: { row: 'first', where: 'first.owner = ?' },
  all: { row: 'first' },
  tag: { row: 'first' },
  ends: { row: 'newest', where: 'newest.deactivation_at IS NOT NULL', sort: 'newest.deactivation_at' },
  used: { row: 'first', sort: usedDay },
  created: { row: 'first', sort: 'first.created_at' },
  rotated: { row: 'newest', sort: 'newest.created_at' },
  // The index excludes the most common state.
  state: { row: 'newest', where: "newest.state = ? AND newest.state <> 'Active'" },
  algorithm: { row: 'first', where: 'first.algorithm = ?' },
  disabled: { row: 'newest', where: 'newest.disabled_at IS NOT NULL' },
  waiting: { row: 'newest', where: 'newest.destruction_at IS NOT NULL' },
} as const satisfies Readonly<Record<string, WalkRule>>
export type Walk = keyof typeof walks

export function isWalk(name: unknown): name is Walk {
  return typeof name === 'string' && Object.hasOwn(walks, name)
}

export const rules: Readonly<Record<Walk, WalkRule>> = walks

/** Behind which row a page begins. */
export interface InventoryCursor {
  readonly walk: Walk
  /** Value of the sort column; 0 if only the id sorts. */
  readonly value: number
  readonly id: string
}

export const everything: Range = { from: Number.MIN_SAFE_INTEGER, before: Number.MAX_SAFE_INTEGER }

/** The state of a row as `stateAt` has it, with three parameters: the moment. */
const stateNow = `CASE
  WHEN newest.state = 'PreActive' AND newest.activation_at <= ? THEN
    CASE WHEN newest.deactivation_at <= ? THEN 'Deactivated' ELSE 'Active' END
  WHEN newest.state = 'Active' AND newest.deactivation_at <= ? THEN 'Deactivated'
  ELSE newest.state END`

// One statement for all filters, so that requests do not determine the prepared statements: unused filters are NULL.
// Name, owner, tags and use are those of the first row; state, end and withholding those of the newest version. `+ 0`
// prevents the use of other indexes: a list is scanned along the index of its order.
const conditions = `
  (CAST(? AS TEXT) IS NULL OR first.owner = ?)
  AND (CAST(? AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM object_tag t WHERE t.object_id = first.id AND t.tag = ?))
  AND (CAST(? AS TEXT) IS NULL OR first.algorithm = ?)
  AND (CAST(? AS TEXT) IS NULL OR first.bound_alg = ?)
  AND (CAST(? AS TEXT) IS NULL OR first.object_type = ?)
  AND (CAST(? AS TEXT) IS NULL OR first.object_type <> ?)
  AND (CAST(? AS TEXT) IS NULL OR ${stateNow} = ?)
  AND (CAST(? AS TEXT) IS NULL OR (newest.disabled_at IS NULL) = (CAST(? AS BIGINT) = 0))
  AND (CAST(? AS TEXT) IS NULL OR (newest.destruction_at IS NULL) = (CAST(? AS BIGINT) = 0))
  AND first.created_at + 0 >= ? AND first.created_at + 0 < ?
  AND newest.created_at + 0 >= ? AND newest.created_at + 0 < ?
  AND (CAST(? AS TEXT) IS NULL OR (newest.deactivation_at >= ? AND newest.deactivation_at < ?))
  AND ${usedDay} + 0 >= ? AND ${usedDay} + 0 < ?`

/** Parameters of the filter, which precede the limit in each statement of a scan. */
export function conditionParameters(filter: InventoryFilter, now: number): SqlValue[] {
  const { owner, tag, algorithm, boundAlg, type, excludedType, state, disabled, awaitsDestruction, ends } =
    filter
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
    ...text(excludedType),
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
export interface WalkCursor {
  readonly id: string
  readonly value: number
}
/** A row that meets the conditions. */
export interface Found extends WalkCursor {
  readonly kid: string
  readonly version_kid: string
  readonly last_used_day: number | null
}
type Statement<R> = Query<readonly SqlValue[], R>

export interface WalkStatements {
  /** The last row that a page scans; none if there are fewer. */
  readonly end: Statement<WalkCursor>
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

function buildStatements(rule: WalkRule, byTag = false): WalkStatements {
  const { row, where, sort } = rule
  const id = byTag ? 'tagged.object_id' : `${row}.id`
  const [place, marks] = sort === undefined ? [id, '?'] : [`(${sort}, ${id})`, '(?, ?)']
  const order = sort === undefined ? id : `${sort}, ${id}`
  const of = byTag ? 'tagged.tag = ?' : where
  // SQLite compares no pair by an index over an expression: days are walked one by one (`inventory-days.ts`).
  const lower = sort === usedDay ? `${sort} >= ?` : `${place} > ${marks}`
  const behind = [...(of === undefined ? [] : [of]), lower]
  // One bound on each side: with two of them SQLite walks to the further one.
  const toTheEnd = [...behind, ...(sort === undefined ? [] : [`${sort} < ?`])]
  const [tables, join] = joined[row]
  const from = byTag ? `object_tag tagged CROSS JOIN ${tables}` : tables
  const links = byTag ? ['first.id = tagged.object_id', join] : [join]
  const selectFound = (bounds: readonly string[]) =>
    query<readonly SqlValue[], Found>(
      `SELECT ${id} AS id, ${sort ?? '0'} AS value, first.id AS kid, newest.id AS version_kid, first.last_used_day
         FROM ${from} WHERE ${[...bounds, ...links, onlyKeys[row], conditions].join(' AND ')} ORDER BY ${order} LIMIT ?`,
    )
  return {
    end: query(
      `SELECT ${id} AS id, ${sort ?? '0'} AS value FROM ${byTag ? 'object_tag tagged' : `managed_object ${row}`}
         WHERE ${toTheEnd.join(' AND ')} ORDER BY ${order} LIMIT 1 OFFSET ?`,
    ),
    some: selectFound([...behind, `${place} <= ${marks}`]),
    rest: selectFound(toTheEnd),
  }
}

export const statements = Object.fromEntries(
  Object.keys(walks).map((walk) => [walk, buildStatements(rules[walk as Walk], walk === 'tag')]),
) as Readonly<Record<Walk, WalkStatements>>

/** Keys of one day of `used`, by their ids. */
export const ofOneDay = buildStatements({ row: 'first', where: `${usedDay} = ?` })
