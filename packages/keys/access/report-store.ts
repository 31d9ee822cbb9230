import { type Query, query, queryOfText } from '@warder/storage'
import { groupPrefix, rolePrefix } from './grantee-store.ts'
import type { RightsReader } from './past-rights.ts'
import { allUsers, anyObject } from './right.ts'

/** How a right came to a principal. */
export const reportWays = ['owner', 'direct', 'wildcard', 'group', 'role', 'tag'] as const
export type ReportWay = (typeof reportWays)[number]

/** A principal with a right on an object. */
export interface ReportRow {
  /** A user or a machine; `*`, a role, a pattern or a group if single principals are not known or not shown. */
  readonly principal: string
  /** Id of the object; `*` for rights on no object. */
  readonly object: string
  readonly owner: string | undefined
  /** `*`: every right, of the owner. */
  readonly right: string
  readonly way: ReportWay
  /** The name to which it was granted. */
  readonly grantee: string
  /** The tag of a grant by tag; empty: there is none. */
  readonly tag: string
  /** Day of the last use of the object by the principal; undefined: none is known. */
  readonly day: number | undefined
}

/** Behind which row of a part a step begins; empty: at the beginning of the part. */
export type Position = readonly string[]

/** A row and its position; without `row`, something that was read and is not listed. */
interface Found {
  readonly row: ReportRow | undefined
  readonly at: Position
}

/** The rows of one query, and where the next one begins; undefined: the part is at its end. */
interface Step {
  readonly found: readonly Found[]
  readonly next: Position | undefined
}

/** A part of the report: each step reads a bounded range of an index. */
export type ReportPart = (db: RightsReader, after: Position, limit: number) => Promise<Step>

type Params = readonly (string | number)[]

/** The first text behind all that begin with this one: names have no control characters. */
const behind = (text: string): string => `${text}\u0001`

interface Row {
  readonly object_id: string
  readonly owner: string | null
  readonly user_id: string
  readonly operation: string
  readonly tag: string
  readonly lookup: string
  readonly head: string
  readonly tail: string
  readonly day: number | null
}

/** Objects of the report: those of one owner, one object, or all. Later versions of a key have no grants of their own. */
export interface ReportScope {
  readonly owner?: string
  readonly object?: string
}

const keysAtOnce = 1000
const isKey = '(o.chain_id IS NULL OR o.chain_id = o.id)'

/** @returns a condition on `managed_object o`, without the range of ids */
function limitTo({ owner, object }: ReportScope): { readonly text: string; readonly params: Params } {
  if (object !== undefined && owner !== undefined)
    return { text: 'o.id = ? AND o.owner = ? AND', params: [object, owner] }
  if (object !== undefined) return { text: 'o.id = ? AND', params: [object] }
  return owner === undefined ? { text: '', params: [] } : { text: 'o.owner = ? AND', params: [owner] }
}

/** One row for each object, of its owner. */
export function ownersPart(scope: ReportScope): ReportPart {
  const { text, params } = limitTo(scope)
  const owners = queryOfText<Params, { readonly id: string; readonly owner: string; day: number | null }>(
    `SELECT o.id, o.owner, u.day FROM managed_object o
       LEFT JOIN object_use u ON u.object_id = o.id AND u.user_id = o.owner
       WHERE ${text} o.id > ? AND ${isKey} ORDER BY o.id LIMIT ?`,
  )
  return async (db, [after = ''], limit) => {
    const rows = await db.all(owners, [...params, after, limit])
    const found = rows.map(({ id, owner, day }) => ({
      row: toRow({ object: id, owner, grantee: owner, right: '*', tag: '', day }, owner, 'owner'),
      at: [id],
    }))
    return { found, next: rows.length < limit ? undefined : found.at(-1)?.at }
  }
}

function toRow(
  values: Omit<ReportRow, 'principal' | 'way' | 'owner' | 'day'> & {
    readonly owner: string | null
    readonly day: number | null
  },
  principal: string,
  way = toWay(values.grantee, values.tag),
): ReportRow {
  return { ...values, principal, way, owner: values.owner ?? undefined, day: values.day ?? undefined }
}

function toWay(grantee: string, tag: string): ReportWay {
  if (tag !== '') return 'tag'
  if (grantee === allUsers) return 'wildcard'
  if (grantee.startsWith(groupPrefix)) return 'group'
  return grantee.startsWith(rolePrefix) ? 'role' : 'direct'
}

/** Whose rights are listed, and which groups are shown by their members. */
export interface ReportSubject {
  /** The grants that reach one principal. undefined: all grants. */
  readonly only?: { readonly principal: string; readonly grantees: ReadonlySet<string> }
  /** Groups are listed by their members where this user is an owner or a member of the group. undefined: all groups. */
  readonly reader?: string
}

const grantColumns = 'page.object_id, page.tag, page.user_id, page.operation'
/** Sources of grants, in the order of object, tag, grantee and operation. */
const sources = {
  grants: (scope: string) => `SELECT o.id AS object_id, '' AS tag, g.user_id, g.operation
    FROM managed_object o CROSS JOIN object_grant g
    WHERE ${scope} o.id >= ? AND o.id <= ? AND g.object_id = o.id
      AND g.user_id >= CASE WHEN o.id = ? THEN CAST(? AS TEXT) ELSE '' END
    ORDER BY o.id, g.user_id, g.operation LIMIT ?`,
  tags: (scope: string) => `SELECT o.id AS object_id, k.tag, t.user_id, t.operation
    FROM managed_object o CROSS JOIN object_tag k CROSS JOIN tag_grant t
    WHERE ${scope} o.id >= ? AND o.id <= ? AND k.object_id = o.id AND t.owner = o.owner AND t.tag = k.tag
      AND (o.id, k.tag, t.user_id, t.operation) >= (?, ?, ?, ?)
    ORDER BY o.id, k.tag, t.user_id, t.operation LIMIT ?`,
  general: () => `SELECT g.object_id, '' AS tag, g.user_id, g.operation FROM object_grant g
    WHERE g.object_id = '${anyObject}' AND g.user_id >= ? ORDER BY g.user_id, g.operation LIMIT ?`,
}

/** Grants of a source, with last uses: those of one principal, or all with the members of groups. */
function queryGrants(source: string, { only, reader }: ReportSubject): Query<Params, Row> {
  if (only !== undefined)
    return queryOfText(`SELECT ${grantColumns}, o.owner, '' AS lookup, '' AS head, '' AS tail, u.day
      FROM (${source}) page LEFT JOIN managed_object o ON o.id = page.object_id
      LEFT JOIN object_use u ON u.object_id = page.object_id AND u.user_id = ?
      WHERE (${grantColumns}) > (?, ?, ?, ?) ORDER BY ${grantColumns} LIMIT ?`)
  const isVisible =
    reader === undefined
      ? ''
      : `AND (EXISTS (SELECT 1 FROM access_group_owner a WHERE a.group_id = page.user_id AND a.owner = ?)
          OR EXISTS (SELECT 1 FROM access_membership b WHERE b.lookup = ? AND b.group_id = page.user_id))`
  const [lookup, head, tail] = ["COALESCE(m.lookup, '')", "COALESCE(m.head, '')", "COALESCE(m.tail, '')"]
  const order = `${grantColumns}, ${lookup}, ${head}, ${tail}`
  return queryOfText(`SELECT ${grantColumns}, o.owner, ${lookup} AS lookup, ${head} AS head, ${tail} AS tail, u.day
    FROM (${source}) page LEFT JOIN managed_object o ON o.id = page.object_id
    LEFT JOIN access_membership m ON m.group_id = page.user_id ${isVisible}
    LEFT JOIN object_use u ON u.object_id = page.object_id AND u.user_id = COALESCE(m.lookup, page.user_id)
    WHERE (${order}) > (?, ?, ?, ?, ?, ?, ?) ORDER BY ${order} LIMIT ?`)
}

/**
 * Grants read at once: halved where groups are large, so that each query reads a bounded number of members. Always more
 * than the rights of one grantee, which are read again where a step begins between them.
 */
const firstGrants = 64
const minGrants = 32
const maxGrants = 1024

/** Grants on objects, or by tags of objects, in the order of objects. */
export function grantsPart(
  source: 'grants' | 'tags' | 'general',
  scope: ReportScope,
  subject: ReportSubject,
): ReportPart {
  const limits = limitTo(scope)
  const grants = queryGrants(sources[source](limits.text), subject)
  const keys = queryOfText<Params, { readonly id: string }>(
    `SELECT o.id FROM managed_object o WHERE ${limits.text} o.id >= ? AND ${isKey} ORDER BY o.id LIMIT ?`,
  )
  let atOnce = firstGrants
  const findEnd = async (db: RightsReader, from: string): Promise<string | undefined> => {
    if (source === 'general') return from <= anyObject ? anyObject : undefined
    return (await db.all(keys, [...limits.params, from, keysAtOnce])).at(-1)?.id
  }
  return async (db, after, limit) => {
    const [from = '', tag = '', user = '', operation = ''] = after
    const to = await findEnd(db, from)
    if (to === undefined) return { found: [], next: undefined }
    const positions = {
      grants: [...limits.params, from, to, from, user],
      tags: [...limits.params, from, to, from, tag, user, operation],
      general: [user],
    }
    const { only, reader } = subject
    const rows = await db.all(grants, [
      ...[...positions[source], atOnce],
      ...(only === undefined && reader !== undefined ? [reader, reader] : []),
      ...(only === undefined ? [] : [only.principal]),
      ...[...padded(after, only === undefined ? 7 : 4), limit],
    ])
    atOnce = rows.length === limit ? Math.max(minGrants, atOnce / 2) : Math.min(maxGrants, atOnce * 2)
    const found = rows.map((row) => toFound(row, subject))
    return { found, next: found.at(-1)?.at ?? [behind(to)] }
  }
}

function padded(position: Position, length: number): string[] {
  return Array.from({ length }, (_, index) => position[index] ?? '')
}

function toFound(row: Row, { only }: ReportSubject): Found {
  const { object_id: object, owner, user_id: grantee, operation: right, tag, lookup, head, tail, day } = row
  const at = [object, tag, grantee, right, lookup, head, tail]
  if (only !== undefined && !only.grantees.has(grantee)) return { row: undefined, at }
  // The look-up of a pattern begins with a blank.
  const member = lookup.startsWith(' ') ? `${head}*${tail}` : lookup
  const principal = only?.principal ?? (member === '' ? grantee : member)
  return { row: toRow({ object, owner, grantee, right, tag, day }, principal), at }
}

const ofGrantee = query<Params, Pick<Row, 'object_id' | 'owner' | 'operation' | 'day'>>(
  `SELECT page.object_id, o.owner, page.operation, u.day
     FROM (SELECT object_id, operation FROM object_grant WHERE user_id = ? AND (object_id, operation) > (?, ?)
       ORDER BY object_id, operation LIMIT ?) page
     LEFT JOIN managed_object o ON o.id = page.object_id
     LEFT JOIN object_use u ON u.object_id = page.object_id AND u.user_id = ? ORDER BY page.object_id, page.operation`,
)

/** Grants on all objects to the names under which a principal is a grantee. @param isListed leaves out objects */
export function granteesPart(
  principal: string,
  grantees: readonly string[],
  isListed: (owner: string | null) => boolean,
): ReportPart {
  const names = [...new Set(grantees)].sort()
  return async (db, [after = '', object = '', operation = ''], limit) => {
    const name = names.find((one) => one >= after)
    if (name === undefined) return { found: [], next: undefined }
    const within = name === after ? [object, operation] : ['', '']
    const rows = await db.all(ofGrantee, [name, ...within, limit, principal])
    const found = rows.map(({ object_id: id, owner, operation: right, day }) => ({
      row: isListed(owner)
        ? toRow({ object: id, owner, grantee: name, right, tag: '', day }, principal)
        : undefined,
      at: [name, id, right],
    }))
    return { found, next: found.at(-1)?.at ?? [behind(name)] }
  }
}

const nextTag = query<[user: string, owner: string, tag: string], { readonly owner: string; tag: string }>(
  `SELECT owner, tag FROM tag_grant WHERE user_id = ? AND (owner, tag) >= (?, ?) ORDER BY owner, tag LIMIT 1`,
)
/** Keys of other owners have the tag, too: they are read and not listed. */
const ofTag = query<Params, Pick<Row, 'object_id' | 'owner' | 'operation' | 'day'>>(
  `SELECT page.object_id, o.owner, t.operation, u.day
     FROM (SELECT object_id FROM object_tag WHERE tag = ? AND object_id >= ? ORDER BY object_id LIMIT ?) page
     CROSS JOIN tag_grant t LEFT JOIN managed_object o ON o.id = page.object_id AND o.owner = t.owner
     LEFT JOIN object_use u ON u.object_id = page.object_id AND u.user_id = ?
     WHERE t.owner = ? AND t.tag = ? AND t.user_id = ? AND (page.object_id, t.operation) > (?, ?)
     ORDER BY page.object_id, t.operation`,
)
const taggedAtOnce = 200

/** Grants by tag to the names under which a principal is a grantee. */
export function granteeTagsPart(
  principal: string,
  grantees: readonly string[],
  isListed: (owner: string | null) => boolean,
): ReportPart {
  const names = [...new Set(grantees)].sort()
  return async (db, [after = '', owner = '', tag = '', object = '', operation = '']) => {
    const name = names.find((one) => one >= after)
    if (name === undefined) return { found: [], next: undefined }
    const [fromOwner, fromTag] = name === after ? [owner, tag] : ['', '']
    const granted = await db.get(nextTag, [name, fromOwner, fromTag])
    if (granted === undefined) return { found: [], next: [behind(name)] }
    const isSame = name === after && granted.owner === owner && granted.tag === tag
    const within = isSame ? [object, operation] : ['', '']
    const grant = [granted.owner, granted.tag, name]
    const params = [granted.tag, within[0] ?? '', taggedAtOnce, principal, ...grant, ...within]
    const found = (await db.all(ofTag, params)).map(({ object_id: id, operation: right, day, ...row }) => ({
      row:
        row.owner !== null && isListed(row.owner)
          ? toRow({ object: id, owner: row.owner, grantee: name, right, tag: granted.tag, day }, principal)
          : undefined,
      at: [name, granted.owner, granted.tag, id, right],
    }))
    return { found, next: found.at(-1)?.at ?? [name, granted.owner, behind(granted.tag)] }
  }
}

/** A part of the report and a position in it. */
export interface ReportCursor {
  readonly part: number
  readonly after: Position
}

/**
 * Reads rows from a cursor on, with one query or two.
 * @param keeps whether a row is listed
 * @returns at most `max` rows, and where the next step begins; undefined: at the end
 */
export async function readReport(
  db: RightsReader,
  parts: readonly ReportPart[],
  { part, after }: ReportCursor,
  { limit, max, keeps }: { limit: number; max: number; keeps: (row: ReportRow) => boolean },
): Promise<{ readonly rows: readonly ReportRow[]; readonly next: ReportCursor | undefined }> {
  const read = parts[part]
  if (read === undefined) return { rows: [], next: undefined }
  const { found, next } = await read(db, after, limit)
  const rows: ReportRow[] = []
  for (const { row, at } of found) {
    if (row === undefined || !keeps(row)) continue
    rows.push(row)
    if (rows.length === max) return { rows, next: { part, after: at } }
  }
  if (next !== undefined) return { rows, next: { part, after: next } }
  return { rows, next: part + 1 < parts.length ? { part: part + 1, after: [] } : undefined }
}
