import { setImmediate } from 'node:timers/promises'
import {
  type ManagedObject,
  type ObjectRow,
  type Right,
  type Roles,
  toObject,
  type UnitOfWork,
  verdictOn,
} from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import type { Caller } from '@warder/server'
import type { Database } from '@warder/storage'
import type { AttributeState } from '../attributes/attribute-view.ts'
import { kmipFailure } from '../failure/failure.ts'
import type { Condition } from './locate-condition-store.ts'
import type { Criteria, Term } from './locate-criteria.ts'
import { storageCondition } from './locate-dates-store.ts'
import { isStored, meetsAll } from './locate-match.ts'
import {
  countStatements,
  isTooMany,
  pageStatement,
  type Searcher,
  type Statement,
} from './locate-page-store.ts'
import { toCondition } from './locate-terms-store.ts'

/** Maximum number of identifiers in one response, regardless of the request. */
const maxLocated = 10_000
/** Maximum number of rows that one search checks individually when no index answers it. */
const maxScanned = 100_000
/** Maximum number of objects that are counted. */
const maxCounted = 10_000_000
const pageSize = 500
const countSize = 10_000

export interface SearchServices {
  readonly db: Database
  readonly roles: Roles
}

export interface Located {
  /** The newest first. */
  readonly ids: readonly string[]
  /** Total number of objects; undefined: too many to check individually. */
  readonly total: number | undefined
}

/**
 * Objects that meet the criteria and that the caller may find: own ones, ones with a grant of `locate`, all of them for a
 * crypto officer. Objects that this message has staged are searched in their staged state.
 * @param now Unix milliseconds
 * @throws kmipFailure ServerLimitExceeded when no index helps and too many rows would have to be checked
 */
export async function search(
  services: SearchServices,
  caller: Caller,
  criteria: Criteria,
  objects: UnitOfWork,
  now: number,
): Promise<Located> {
  const searcher: Searcher = { ...caller, all: await services.roles.officers.isActive(caller.name) }
  const maxResults = criteria.onlyDefault ? 1 : Math.min(criteria.maxItems ?? maxLocated, maxLocated)
  const page = { offset: criteria.onlyDefault ? 0 : criteria.offset, pageLimit: maxResults }
  const plan = buildPlan(criteria, now)
  const mayFind = materialFilter(services, caller, criteria)
  const staged = await findStagedMatches(services, caller, criteria, objects, now, mayFind)
  const located =
    plan.left.length === 0 && staged.ids.size === 0
      ? await byDatabase(services.db, searcher, plan, page)
      : await byLooking(services.db, searcher, plan, criteria, staged, page, now, mayFind)
  return criteria.onlyDefault ? { ids: located.ids, total: located.ids.length } : located
}

type MayFind = (object: ManagedObject) => Promise<boolean>

/** A search by Digest tests a guess about the material, so it finds only objects that the caller may get or export. */
function materialFilter({ db, roles }: SearchServices, caller: Caller, { terms }: Criteria): MayFind {
  if (!terms.some((term) => term.kind === 'value' && term.node.tag === Tag.Digest)) return async () => true
  const may = async (object: ManagedObject, right: Right) =>
    (await verdictOn(db, roles, object, caller, right)) === 'allowed'
  return async (object) => (await may(object, 'get')) || may(object, 'export')
}

interface Page {
  readonly offset: number
  readonly pageLimit: number
}

/** The database query, and the conditions to check afterwards. */
interface Plan {
  readonly conditions: readonly Condition[]
  readonly left: readonly Term[]
}

function buildPlan({ terms, storage }: Criteria, now: number): Plan {
  const pairs = terms.map((term) => ({ term, found: toCondition(term, now) }))
  const place = storageCondition(storage)
  const all = [...pairs.flatMap(({ found }) => found ?? []), place]
  if (!isTooMany(all)) {
    return {
      conditions: all,
      left: pairs.filter(({ found }) => found?.exact !== true).map(({ term }) => term),
    }
  }
  const best = pairs.find(({ found }) => found?.selective === true)?.found
  // Tags are not part of the row, so the database must check them.
  const tags = pairs.filter(({ term }) => term.kind === 'tags').flatMap(({ found }) => found ?? [])
  const few = tags.length > 0 || best === undefined ? tags : [best]
  return {
    conditions: [...few, place],
    left: terms.filter(({ kind }) => kind !== 'tags'),
  }
}

async function byDatabase(db: Database, searcher: Searcher, plan: Plan, page: Page): Promise<Located> {
  const rows = await all(db, pageStatement(searcher, plan.conditions, 'id', { ...page, below: undefined }))
  const ids = rows.map(({ id }) => id)
  if (ids.length < page.pageLimit && (page.offset === 0 || ids.length > 0))
    return { ids, total: page.offset + ids.length }
  return { ids, total: await countAll(db, searcher, plan.conditions) }
}

/** In chunks, so that other requests get their turn: on SQLite nothing here waits. */
async function countAll(
  db: Database,
  searcher: Searcher,
  conditions: readonly Condition[],
): Promise<number | undefined> {
  let total = 0
  for (const next of countStatements(searcher, conditions, countSize)) {
    let below: string | undefined
    for (;;) {
      const [piece] = await all(db, next(below))
      total += piece?.total ?? 0
      if (total > maxCounted) return undefined
      if (piece === undefined || piece.total < countSize || piece.lowest === null) break
      below = piece.lowest
      await setImmediate()
    }
  }
  return total
}

/** Objects staged by this message: those that match in their staged state, and all whose rows are outdated. */
interface StagedMatches {
  readonly matches: readonly string[]
  readonly ids: ReadonlySet<string>
}

async function findStagedMatches(
  services: SearchServices,
  caller: Caller,
  { terms, storage }: Criteria,
  objects: UnitOfWork,
  now: number,
  mayFind: MayFind,
): Promise<StagedMatches> {
  const matches: string[] = []
  const staged = objects.staged()
  for (const object of staged) {
    const state: AttributeState = { object, tags: await objects.tags(object) }
    if (!isStored(storage, state, now) || !meetsAll(terms, state, now)) continue
    const verdict = await verdictOn(services.db, services.roles, object, caller, 'locate')
    if (verdict === 'allowed' && (await mayFind(object))) matches.push(object.id)
  }
  return { matches, ids: new Set([...staged.map(({ id }) => id), ...objects.removed()]) }
}

/** Reads the results of the database page by page, and checks each row. */
async function byLooking(
  db: Database,
  searcher: Searcher,
  { conditions, left }: Plan,
  criteria: Criteria,
  staged: StagedMatches,
  page: Page,
  now: number,
  mayFind: MayFind,
): Promise<Located> {
  const found = [...staged.matches]
  let below: string | undefined
  let complete = false
  for (let scanned = 0; scanned < maxScanned && !complete; scanned += pageSize) {
    const rows: readonly ObjectRow[] = await all(
      db,
      pageStatement(searcher, conditions, 'row', { below, offset: 0, pageLimit: pageSize }),
    )
    for (const row of rows) {
      if (staged.ids.has(row.id)) continue
      const object = toObject(row)
      if ((left.length === 0 || meetsRest(object, left, criteria, now)) && (await mayFind(object)))
        found.push(row.id)
    }
    below = rows.at(-1)?.id
    complete = rows.length < pageSize
    // Other requests get their turn between pages: on SQLite nothing here waits.
    if (!complete) await setImmediate()
  }
  const ids = found
    .sort()
    .reverse()
    .slice(page.offset, page.offset + page.pageLimit)
  if (complete) return { ids, total: found.length }
  if (found.length < page.offset + page.pageLimit)
    throw kmipFailure(
      'ServerLimitExceeded',
      'Too many objects would have to be looked at: ask for more attributes.',
    )
  return { ids, total: undefined }
}

/** The database has checked the tags. */
function meetsRest(
  object: ManagedObject,
  left: readonly Term[],
  { storage }: Criteria,
  now: number,
): boolean {
  const state: AttributeState = { object, tags: [] }
  return isStored(storage, state, now) && meetsAll(left, state, now)
}

async function all<R>(db: Database, { query, params }: Statement<R>): Promise<readonly R[]> {
  return db.all(query, params)
}
