import type { Caller } from '@warder/server'
import { type Change, change, type Database, query, queryOfText } from '@warder/storage'
import { getChainId, type ManagedObject } from '../objects/managed-object.ts'
import { padNames } from './grant-store.ts'
import { allUsers } from './right.ts'

/** Prefixes of grantees that stand for several principals; no credential yields such a name. */
export const groupPrefix = 'group:'
export const rolePrefix = 'role:'

/** One way in which a caller has a right on an object. */
export interface GrantWay {
  readonly operation: string
  /** The user, `*`, the group or the role to which it was granted. */
  readonly user_id: string
  /** The tag of a grant by tag; empty: the grant names the key. */
  readonly tag: string
}

/** Code points at the beginning or at the end of a name by which the patterns that may fit are looked up. */
export const patternAnchor = 4

/**
 * Search values in `access_membership` for a name: itself, and the beginning and the end by which patterns are found.
 * No name begins with a blank.
 */
export function anchors(head: string, tail: string): readonly [first: string, last: string] {
  const [first, last] = [[...head].slice(0, patternAnchor), [...tail].slice(-patternAnchor)]
  return [` h${first.join('')}`, ` t${last.join('')}`]
}

/** Whether a pattern, split at its `*`, fits the name that fills the four places. */
const fits = `substr(CAST(? AS TEXT), 1, length(m.head)) = m.head
  AND substr(CAST(? AS TEXT), length(CAST(? AS TEXT)) - length(m.tail) + 1) = m.tail
  AND length(CAST(? AS TEXT)) >= length(m.head) + length(m.tail)`

type Params = readonly string[]

interface Part {
  readonly text: string
  readonly params: Params
}

const fittingParams = (name: string): Params => [...anchors(name, name), name, name, name, name]

/**
 * A list of all names under which the caller is a grantee, for `IN (…)`: name, `*`, roles and groups. There are few
 * different texts: they differ by the number of roles, in steps.
 */
export function listGrantees(caller: Caller): Part {
  const { name, roles = [] } = caller
  const names = padNames([name, allUsers, ...roles])
  return {
    text: `VALUES ${names.map(() => '(CAST(? AS TEXT))').join(', ')}
      UNION ALL SELECT m.group_id FROM access_membership m WHERE m.lookup = ?
      UNION ALL SELECT m.group_id FROM access_membership m WHERE m.lookup IN (?, ?) AND ${fits}`,
    params: [...names, name, ...fittingParams(name)],
  }
}

/**
 * All grants on a key that reach the caller, in one statement: by name, to all users, by role, by group, and by tags
 * of the key. Never cached, so that every change of a grant, a group or a tag counts on the next request.
 */
export async function findGrants(
  db: Database,
  object: Pick<ManagedObject, 'id' | 'owner'> & Partial<Pick<ManagedObject, 'chainId'>>,
  caller: Caller,
): Promise<readonly GrantWay[]> {
  const { name, roles = [] } = caller
  const id = getChainId(object)
  const names = padNames([name, allUsers, ...roles])
  const grantees = listGrantees(caller)
  // CROSS JOIN keeps SQLite from reading all grants of a key before the groups of the caller.
  const text = `SELECT operation, user_id, '' AS tag FROM object_grant
      WHERE object_id = ? AND user_id IN (${names.map(() => '?').join(', ')})
    UNION ALL SELECT g.operation, g.user_id, '' FROM access_membership m CROSS JOIN object_grant g
      WHERE m.lookup = ? AND g.object_id = ? AND g.user_id = m.group_id
    UNION ALL SELECT g.operation, g.user_id, '' FROM access_membership m CROSS JOIN object_grant g
      WHERE m.lookup IN (?, ?) AND ${fits} AND g.object_id = ? AND g.user_id = m.group_id
    UNION ALL SELECT t.operation, t.user_id, t.tag FROM object_tag k CROSS JOIN tag_grant t
      WHERE k.object_id = ? AND t.owner = ? AND t.tag = k.tag AND t.user_id IN (${grantees.text})`
  const params = [id, ...names, name, id, ...fittingParams(name), id, id, object.owner, ...grantees.params]
  return db.all(queryOfText<Params, GrantWay>(text), params)
}

/** How a right came, for the audit log; undefined: by a grant to the caller's name or to all users. */
export function formatWay({ user_id: user, tag }: Pick<GrantWay, 'user_id' | 'tag'>): string | undefined {
  const isGroupOrRole = user.startsWith(groupPrefix) || user.startsWith(rolePrefix)
  if (tag === '') return isGroupOrRole ? user : undefined
  return isGroupOrRole ? `tag:${tag} ${user}` : `tag:${tag}`
}

const groupsOfName = query<Params, { readonly group_id: string }>(
  `SELECT m.group_id FROM access_membership m WHERE m.lookup = ?
   UNION SELECT m.group_id FROM access_membership m WHERE m.lookup IN (?, ?) AND ${fits} ORDER BY group_id`,
)

/** Groups of a name, those that contain its groups included. */
export async function findGroupsOfName(db: Pick<Database, 'all'>, name: string): Promise<readonly string[]> {
  return (await db.all(groupsOfName, [name, ...fittingParams(name)])).map(({ group_id }) => group_id)
}

const patternsOfName = query<Params, { readonly group_id: string }>(
  `SELECT DISTINCT m.group_id FROM access_group_member m WHERE m.lookup IN (?, ?) AND ${fits} ORDER BY m.group_id`,
)

/** Groups that list a pattern that fits a name. */
export async function findGroupsByPattern(db: Database, name: string): Promise<readonly string[]> {
  return (await db.all(patternsOfName, fittingParams(name))).map(({ group_id }) => group_id)
}

const grantOnTag = query<[owner: string, tag: string, user: string, operation: string], unknown>(
  'INSERT INTO tag_grant (owner, tag, user_id, operation) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
)
const revokeOnTag = query<[owner: string, tag: string, user: string, operation: string], unknown>(
  'DELETE FROM tag_grant WHERE owner = ? AND tag = ? AND user_id = ? AND operation = ?',
)
const countOnTags = query<[owner: string, limit: number], { readonly total: number }>(
  'SELECT COUNT(*) AS total FROM (SELECT 1 AS one FROM tag_grant WHERE owner = ? LIMIT ?) AS owned',
)
const ofKeyByTag = query<[id: string, owner: string, limit: number], GrantWay>(
  `SELECT t.operation, t.user_id, t.tag FROM object_tag k CROSS JOIN tag_grant t
     WHERE k.object_id = ? AND t.owner = ? AND t.tag = k.tag ORDER BY t.tag, t.user_id, t.operation LIMIT ?`,
)
const ofTag = query<[owner: string, tag: string, limit: number], GrantWay>(
  `SELECT operation, user_id, tag FROM tag_grant WHERE owner = ? AND tag = ?
     ORDER BY user_id, operation LIMIT ?`,
)

/** Max rows of grants by tag of one owner. */
const maxTagGrants = 10_000

/** Changes that grant rights on all keys of the owner that have the tag, now or later. */
export function tagGrantChanges(
  { owner, tag }: { readonly owner: string; readonly tag: string },
  user: string,
  operations: readonly string[],
): Change[] {
  return operations.map((operation) => change(grantOnTag, [owner, tag, user, operation]))
}

export function tagRevokeChanges(
  { owner, tag }: { readonly owner: string; readonly tag: string },
  user: string,
  operations: readonly string[],
): Change[] {
  return operations.map((operation) => change(revokeOnTag, [owner, tag, user, operation]))
}

export async function hasRoomForTagGrant(db: Database, owner: string): Promise<boolean> {
  return Number((await db.get(countOnTags, [owner, maxTagGrants]))?.total ?? 0) < maxTagGrants
}

/** Grants by tag that reach a key. */
export async function tagGrantsOn(
  db: Database,
  object: Pick<ManagedObject, 'id' | 'owner' | 'chainId'>,
): Promise<readonly GrantWay[]> {
  return db.all(ofKeyByTag, [getChainId(object), object.owner, maxTagGrants])
}

/** Grants by tag of this owner that name the tag. */
export async function listTagGrants(db: Database, owner: string, tag: string): Promise<readonly GrantWay[]> {
  return db.all(ofTag, [owner, tag, maxTagGrants])
}
