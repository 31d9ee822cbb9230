import type { Caller } from '@warder/server'
import { type Database, type Query, query } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import type { ObjectId } from '../objects/object-id.ts'
import { findObject } from '../objects/object-store.ts'
import { padNames } from './grant-store.ts'
import { findGroupsOfName, formatWay, type GrantWay, listGrantees } from './grantee-store.ts'
import { allUsers, rights } from './right.ts'

type Params = readonly (string | number)[]
interface Row extends Omit<GrantWay, 'tag'> {
  readonly object_id: string
}

const stretch = `SELECT * FROM (SELECT object_id, operation, user_id FROM object_grant
  WHERE user_id = ? AND object_id > ? ORDER BY object_id, operation LIMIT ?) mine`
const byCount = new Map<number, Query<Params, Row>>()

/**
 * Reads a range of the index for each grantee, up to the size of a page. Prepared once for each number of
 * grantees.
 */
function stretches(count: number): Query<Params, Row> {
  const known = byCount.get(count)
  if (known !== undefined) return known
  const text = Array(count).fill(stretch).join(' UNION ')
  const made = query<Params, Row>(`${text} ORDER BY object_id, operation, user_id LIMIT ?`)
  byCount.set(count, made)
  return made
}

export interface Obtained {
  readonly object: ManagedObject
  /** Sorted. */
  readonly operations: readonly string[]
  /** Groups, roles and tags by which they come. */
  readonly via: readonly string[]
}

interface Page {
  readonly page: readonly Obtained[]
  readonly next: string | undefined
}

/** Max objects scanned for one page: many grants in a long list may be on the user's own objects. */
const maxScanned = 10_000
/** Rows read per object of a page: objects typically have a few rights. */
const rowsOfObject = 4
/** Begins the places of a list after which objects by tags are listed: the tag grant and the object. */
const tagPlace = 'tag:'

/**
 * A page of other users' objects on which the caller has rights: first those by grants on the object, in the order of
 * ids, then those by tags, tag by tag. It reads ranges of indexes, never a whole index. `next` is the start of the next
 * page; undefined = the end.
 */
export async function listObtainedObjects(
  db: Database,
  caller: Caller,
  after: string,
  limit: number,
): Promise<Page> {
  if (after.startsWith(tagPlace)) return listTagged(db, caller, readTagPlace(after), limit)
  const names = padNames([
    caller.name,
    allUsers,
    ...(caller.roles ?? []),
    ...(await findGroupsOfName(db, caller.name)),
  ])
  const page: Obtained[] = []
  let from = after
  for (let scanned = 0; scanned < maxScanned; ) {
    const { granted, whole } = await readGrantsAfter(db, names, from, limit)
    for (const [id, ways] of granted) {
      from = id
      const found = await toObtained(db, caller, id, ways)
      if (found === undefined) continue
      page.push(found)
      if (page.length === limit) return { page, next: from }
    }
    scanned += granted.length
    if (whole)
      return { page, next: (await hasTagGrants(db, caller)) ? formatTagPlace(['', '', '']) : undefined }
  }
  return { page, next: from }
}

async function toObtained(
  db: Database,
  { name }: Caller,
  id: string,
  ways: readonly GrantWay[],
): Promise<Obtained | undefined> {
  const object = await findObject(db, id as ObjectId)
  if (object === undefined || object.owner === name) return undefined
  const via = ways.flatMap((way) => formatWay(way) ?? [])
  return {
    object,
    operations: [...new Set(ways.map(({ operation }) => operation))].sort(),
    via: [...new Set(via)].sort(),
  }
}

/**
 * Reads about `limit` further objects with grants to these names, and all these grants of each. `whole`: there are no
 * more.
 */
async function readGrantsAfter(
  db: Database,
  names: readonly string[],
  after: string,
  limit: number,
): Promise<{
  readonly granted: readonly (readonly [id: string, ways: readonly GrantWay[]])[]
  readonly whole: boolean
}> {
  // An object has at most one row per right and name, so at least one object is complete.
  const rows = limit * rowsOfObject + rights.length * new Set(names).size
  const params = [...names.flatMap((name) => [name, after, rows]), rows]
  const found = await db.all(stretches(names.length), params)
  const byId = Map.groupBy(found, ({ object_id }) => object_id)
  const granted = [...byId].map(
    ([id, some]) => [id, some.map(({ operation, user_id }) => ({ operation, user_id, tag: '' }))] as const,
  )
  const whole = found.length < rows
  // Of the last one there may be more rows.
  return { granted: whole ? granted : granted.slice(0, -1), whole }
}

/** `owner`, `tag` and object after which the list continues. */
type TagPlace = readonly [owner: string, tag: string, object: string]

function isPlaceText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
}

function formatTagPlace(place: TagPlace): string {
  return `${tagPlace}${Buffer.from(JSON.stringify(place)).toString('base64url')}`
}

function readTagPlace(text: string): TagPlace {
  try {
    const place: unknown = JSON.parse(Buffer.from(text.slice(tagPlace.length), 'base64url').toString())
    if (Array.isArray(place)) {
      const [owner, tag, object] = place.filter(isPlaceText)
      if (owner !== undefined && tag !== undefined && object !== undefined) return [owner, tag, object]
    }
  } catch {
    // A place that this service did not write: the list begins anew.
  }
  return ['', '', '']
}

const byText = new Map<string, Query<Params, unknown>>()
function toQuery<R>(text: string): Query<Params, R> {
  const known = byText.get(text) ?? query<Params, unknown>(text)
  byText.set(text, known)
  return known as Query<Params, R>
}

/** Grants by tag that reach the caller, from a place on. */
async function readTagGrants(db: Database, caller: Caller, [owner, tag]: TagPlace, limit: number) {
  const grantees = listGrantees(caller)
  const text = `SELECT DISTINCT owner, tag FROM tag_grant WHERE (owner > ? OR (owner = ? AND tag >= ?))
      AND owner <> ? AND user_id IN (${grantees.text}) ORDER BY owner, tag LIMIT ?`
  const params = [owner, owner, tag, caller.name, ...grantees.params, limit]
  return db.all(toQuery<{ readonly owner: string; readonly tag: string }>(text), params)
}

async function hasTagGrants(db: Database, caller: Caller): Promise<boolean> {
  return (await readTagGrants(db, caller, ['', '', ''], 1)).length > 0
}

const tagged = query<[tag: string, after: string, limit: number], { readonly object_id: string }>(
  'SELECT object_id FROM object_tag WHERE tag = ? AND object_id > ? ORDER BY object_id LIMIT ?',
)
/** Tags that one page looks at, and objects read at once: keys of other owners have the tag, too. */
const tagsOfPage = 100
const objectsAtOnce = 500

async function listTagged(db: Database, caller: Caller, place: TagPlace, limit: number): Promise<Page> {
  const page: Obtained[] = []
  let scanned = 0
  let after = place
  const grants = await readTagGrants(db, caller, place, tagsOfPage)
  for (const { owner, tag } of grants) {
    if (owner !== after[0] || tag !== after[1]) after = [owner, tag, '']
    for (;;) {
      const ids = await db.all(tagged, [tag, after[2], objectsAtOnce])
      for (const { object_id: id } of ids) {
        after = [owner, tag, id]
        const found = await toTagged(db, caller, after)
        if (found !== undefined) page.push(found)
        if (page.length === limit || ++scanned === maxScanned) return { page, next: formatTagPlace(after) }
      }
      if (ids.length < objectsAtOnce) break
    }
  }
  // The following tag is the first after this one: no text lies between a text and the same with U+0001 behind it.
  return {
    page,
    next: grants.length < tagsOfPage ? undefined : formatTagPlace([after[0], `${after[1]}\u0001`, '']),
  }
}

async function toTagged(
  db: Database,
  caller: Caller,
  [owner, tag, id]: TagPlace,
): Promise<Obtained | undefined> {
  const object = await findObject(db, id as ObjectId)
  if (object === undefined || object.owner !== owner) return undefined
  const grantees = listGrantees(caller)
  const text = `SELECT operation, user_id, tag FROM tag_grant WHERE owner = ? AND tag = ? AND user_id IN (${grantees.text})`
  return toObtained(db, caller, id, await db.all(toQuery<GrantWay>(text), [owner, tag, ...grantees.params]))
}
