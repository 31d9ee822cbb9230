import type { Caller } from '@warder/server'
import { type Database, type Query, query, queryOfText } from '@warder/storage'
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

const rangeOfGrantee = `SELECT * FROM (SELECT object_id, operation, user_id FROM object_grant
  WHERE user_id = ? AND object_id > ? ORDER BY object_id, operation LIMIT ?) mine`

/** Reads a range of the index for each of `count` grantees, up to the size of a page. */
function queryRanges(count: number): Query<Params, Row> {
  const ranges = Array(count).fill(rangeOfGrantee).join(' UNION ')
  return queryOfText(`${ranges} ORDER BY object_id, operation, user_id LIMIT ?`)
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
/** Prefix of a cursor in the second part of the list, the objects by tags. */
const tagCursorPrefix = 'tag:'

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
  if (after.startsWith(tagCursorPrefix)) return listTagged(db, caller, readTagCursor(after), limit)
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
      return { page, next: (await hasTagGrants(db, caller)) ? formatTagCursor(['', '', '']) : undefined }
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
  const found = await db.all(queryRanges(names.length), params)
  const byId = Map.groupBy(found, ({ object_id }) => object_id)
  const granted = [...byId].map(
    ([id, some]) => [id, some.map(({ operation, user_id }) => ({ operation, user_id, tag: '' }))] as const,
  )
  const whole = found.length < rows
  // Of the last one there may be more rows.
  return { granted: whole ? granted : granted.slice(0, -1), whole }
}

/** The list continues after this grant by tag and this object. */
type TagCursor = readonly [owner: string, tag: string, object: string]

function isCursorText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
}

function formatTagCursor(cursor: TagCursor): string {
  return `${tagCursorPrefix}${Buffer.from(JSON.stringify(cursor)).toString('base64url')}`
}

function readTagCursor(text: string): TagCursor {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text.slice(tagCursorPrefix.length), 'base64url').toString())
    if (Array.isArray(parts)) {
      const [owner, tag, object] = parts.filter(isCursorText)
      if (owner !== undefined && tag !== undefined && object !== undefined) return [owner, tag, object]
    }
  } catch {
    // This service did not write the cursor: the list begins at its start.
  }
  return ['', '', '']
}

/** Grants by tag that reach the caller, from a cursor on. */
async function readTagGrants(db: Database, caller: Caller, [owner, tag]: TagCursor, limit: number) {
  const grantees = listGrantees(caller)
  const text = `SELECT DISTINCT owner, tag FROM tag_grant WHERE (owner > ? OR (owner = ? AND tag >= ?))
      AND owner <> ? AND user_id IN (${grantees.text}) ORDER BY owner, tag LIMIT ?`
  const params = [owner, owner, tag, caller.name, ...grantees.params, limit]
  return db.all(queryOfText<Params, { readonly owner: string; readonly tag: string }>(text), params)
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

async function listTagged(db: Database, caller: Caller, cursor: TagCursor, limit: number): Promise<Page> {
  const page: Obtained[] = []
  let scanned = 0
  let after = cursor
  const grants = await readTagGrants(db, caller, cursor, tagsOfPage)
  for (const { owner, tag } of grants) {
    if (owner !== after[0] || tag !== after[1]) after = [owner, tag, '']
    for (;;) {
      const ids = await db.all(tagged, [tag, after[2], objectsAtOnce])
      for (const { object_id: id } of ids) {
        after = [owner, tag, id]
        const found = await toTagged(db, caller, after)
        if (found !== undefined) page.push(found)
        if (page.length === limit || ++scanned === maxScanned) return { page, next: formatTagCursor(after) }
      }
      if (ids.length < objectsAtOnce) break
    }
  }
  // The following tag is the first after this one: no text lies between a text and the same with U+0001 behind it.
  return {
    page,
    next: grants.length < tagsOfPage ? undefined : formatTagCursor([after[0], `${after[1]}\u0001`, '']),
  }
}

async function toTagged(
  db: Database,
  caller: Caller,
  [owner, tag, id]: TagCursor,
): Promise<Obtained | undefined> {
  const object = await findObject(db, id as ObjectId)
  if (object === undefined || object.owner !== owner) return undefined
  const grantees = listGrantees(caller)
  const text = `SELECT operation, user_id, tag FROM tag_grant WHERE owner = ? AND tag = ? AND user_id IN (${grantees.text})`
  return toObtained(
    db,
    caller,
    id,
    await db.all(queryOfText<Params, GrantWay>(text), [owner, tag, ...grantees.params]),
  )
}
