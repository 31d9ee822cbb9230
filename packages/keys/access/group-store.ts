import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import { anchors, groupPrefix } from './grantee-store.ts'

/** A group of principals. `id` is its name as a grantee: `group:NAME`. */
export interface Group {
  readonly id: string
  readonly createdBy: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly changedAt: number
  readonly version: number
}

interface Row {
  readonly id: string
  readonly created_by: string
  readonly created_at: number
  readonly changed_at: number
  readonly version: number
}

/** Members and owners as they are written, sorted. */
export interface GroupLists {
  readonly members: readonly string[]
  readonly owners: readonly string[]
}

/** The lists of a group before and after a change. */
export interface ListChange {
  readonly before: GroupLists
  readonly after: GroupLists
}

/** The names that a change adds to the lists of a group, and those that it removes. */
export function compareLists({ before, after }: ListChange) {
  const without = (names: readonly string[], others: readonly string[]): readonly string[] => {
    const excluded = new Set(others)
    return names.filter((name) => !excluded.has(name))
  }
  return {
    added: without(after.members, before.members),
    removed: without(before.members, after.members),
    ownersAdded: without(after.owners, before.owners),
    ownersRemoved: without(before.owners, after.owners),
  }
}

const columns = 'id, created_by, created_at, changed_at, version'
const byId = query<[id: string], Row>(`SELECT ${columns} FROM access_group WHERE id = ?`)
const every = query<[after: string, limit: number], Row>(
  `SELECT ${columns} FROM access_group WHERE id > ? ORDER BY id LIMIT ?`,
)
/** Groups that a name owns, or that list it as a member themselves or through other groups. */
const ofName = query<[owner: string, after: string, member: string, after: string, limit: number], Row>(
  `SELECT ${columns} FROM access_group WHERE id IN (
     SELECT o.group_id FROM access_group_owner o WHERE o.owner = ? AND o.group_id > ?
     UNION SELECT m.group_id FROM access_membership m WHERE m.lookup = ? AND m.group_id > ?)
   ORDER BY id LIMIT ?`,
)
const membersOf = query<[id: string, limit: number], { readonly member: string }>(
  'SELECT member FROM access_group_member WHERE group_id = ? ORDER BY member LIMIT ?',
)
const ownersOf = query<[id: string, limit: number], { readonly owner: string }>(
  'SELECT owner FROM access_group_owner WHERE group_id = ? ORDER BY owner LIMIT ?',
)
const isOwnerOf = query<[id: string, owner: string], { readonly owner: string }>(
  'SELECT owner FROM access_group_owner WHERE group_id = ? AND owner = ?',
)
const groupsWith = query<[member: string, limit: number], { readonly group_id: string }>(
  'SELECT group_id FROM access_group_member WHERE member = ? ORDER BY group_id LIMIT ?',
)
const groupsIn = query<[id: string], { readonly member: string }>(
  `SELECT member FROM access_group_member WHERE group_id = ? AND substr(member, 1, 6) = 'group:' ORDER BY member`,
)
const createdBy = query<[by: string], { readonly total: number }>(
  'SELECT COUNT(*) AS total FROM access_group WHERE created_by = ?',
)
const countPatterns = query<[except: string], { readonly total: number }>(
  `SELECT COUNT(*) AS total FROM access_group_member WHERE lookup >= ' h' AND lookup < ' u' AND group_id <> ?`,
)
const countOfMember = query<[lookup: string, except: string], { readonly total: number }>(
  'SELECT COUNT(*) AS total FROM access_membership WHERE lookup = ? AND group_id <> ?',
)
const countOfGroup = query<[id: string], { readonly total: number }>(
  'SELECT COUNT(*) AS total FROM access_membership WHERE group_id = ?',
)
const busiestOf = query<[id: string], { readonly total: number }>(
  `SELECT COUNT(*) AS total FROM access_membership WHERE lookup IN (
     SELECT m.lookup FROM access_membership m WHERE m.group_id = ?)
   GROUP BY lookup ORDER BY total DESC LIMIT 1`,
)
const head = query<[], { readonly version: number }>("SELECT version FROM access_group_head WHERE id = 'all'")
const advance = query<[version: number], unknown>(
  "UPDATE access_group_head SET version = version + 1 WHERE id = 'all' AND version = ?",
)
const insertGroup = insertInto<[id: string, by: string, created: number, changed: number, version: number]>(
  'access_group',
  ['id', 'created_by', 'created_at', 'changed_at', 'version'],
)
const touch = query<[now: number, id: string, version: number], unknown>(
  'UPDATE access_group SET changed_at = ?, version = version + 1 WHERE id = ? AND version = ?',
)
const keepGroup = query<[id: string], unknown>('UPDATE access_group SET id = id WHERE id = ?')
const removeGroup = query<[id: string, version: number], unknown>(
  'DELETE FROM access_group WHERE id = ? AND version = ?',
)
const insertMember = insertInto<[id: string, member: string, lookup: string, head: string, tail: string]>(
  'access_group_member',
  ['group_id', 'member', 'lookup', 'head', 'tail'],
)
const removeMember = query<[id: string, member: string], unknown>(
  'DELETE FROM access_group_member WHERE group_id = ? AND member = ?',
)
const insertOwner = insertInto<[id: string, owner: string]>('access_group_owner', ['group_id', 'owner'])
const removeOwner = query<[id: string, owner: string], unknown>(
  'DELETE FROM access_group_owner WHERE group_id = ? AND owner = ?',
)
/** Deletes all rows about a group. */
const deletesOfGroup = [
  'DELETE FROM access_membership WHERE group_id = ?',
  'DELETE FROM access_group_member WHERE group_id = ?',
  'DELETE FROM access_group_member WHERE member = ?',
  'DELETE FROM access_group_owner WHERE group_id = ?',
  'DELETE FROM object_grant WHERE user_id = ?',
  'DELETE FROM tag_grant WHERE user_id = ?',
].map((text) => query<[id: string], unknown>(text))

/** Deletes the memberships, owned groups and grants by tag of a name. */
const deletesOfName = [
  'DELETE FROM tag_grant WHERE owner = ?',
  'DELETE FROM tag_grant WHERE user_id = ?',
  'DELETE FROM access_group_member WHERE member = ?',
  'DELETE FROM access_membership WHERE lookup = ?',
  'DELETE FROM access_group_owner WHERE owner = ?',
].map((text) => query<[name: string], unknown>(text))
const raiseHead = query<[], unknown>("UPDATE access_group_head SET version = version + 1 WHERE id = 'all'")
const copyTagGrants = query<[to: string, from: string, to: string], unknown>(
  `INSERT INTO tag_grant (owner, tag, user_id, operation)
     SELECT t.owner, t.tag, ?, t.operation FROM tag_grant t WHERE t.user_id = ? AND t.owner <> ?
     ON CONFLICT DO NOTHING`,
)
const copyMembers = query<[to: string, to: string, from: string], unknown>(
  `INSERT INTO access_group_member (group_id, member, lookup, head, tail)
     SELECT m.group_id, ?, ?, m.head, m.tail FROM access_group_member m WHERE m.member = ? ON CONFLICT DO NOTHING`,
)
const copyMemberships = query<[to: string, from: string], unknown>(
  `INSERT INTO access_membership (lookup, group_id, head, tail)
     SELECT ?, m.group_id, m.head, m.tail FROM access_membership m WHERE m.lookup = ? ON CONFLICT DO NOTHING`,
)
const copyOwners = query<[to: string, from: string], unknown>(
  `INSERT INTO access_group_owner (group_id, owner)
     SELECT o.group_id, ? FROM access_group_owner o WHERE o.owner = ? ON CONFLICT DO NOTHING`,
)

/** A group, the groups in it, and the groups in those: the depth of groups is bounded. */
const within = `SELECT CAST(? AS TEXT) UNION SELECT a.member FROM access_group_member a WHERE a.group_id = ?
  UNION SELECT b.member FROM access_group_member a JOIN access_group_member b ON b.group_id = a.member WHERE a.group_id = ?`
const members = `SELECT DISTINCT d.lookup, CAST(? AS TEXT), d.head, d.tail FROM access_group_member d
  WHERE d.group_id IN (${within}) AND substr(d.lookup, 1, 6) <> 'group:'`
type Rebuild = readonly string[]
/** The members of a group with those of its groups, derived again; rows that stay are not written. */
const removeFormer = query<Rebuild, unknown>(
  `DELETE FROM access_membership WHERE group_id = ? AND NOT EXISTS (
     SELECT 1 FROM access_group_member d WHERE d.lookup = access_membership.lookup
       AND d.head = access_membership.head AND d.tail = access_membership.tail AND d.group_id IN (${within}))`,
)
const insertNew = query<Rebuild, unknown>(
  `INSERT INTO access_membership (lookup, group_id, head, tail) ${members} ON CONFLICT DO NOTHING`,
)

function toGroup({ id, created_by, created_at, changed_at, version }: Row): Group {
  return { id, createdBy: created_by, createdAt: created_at, changedAt: changed_at, version }
}

export async function findGroup(db: Database, id: string): Promise<Group | undefined> {
  const row = await db.get(byId, [id])
  return row === undefined ? undefined : toGroup(row)
}

/** @param limit rows of each list */
export async function readGroupLists(db: Database, id: string, limit: number): Promise<GroupLists> {
  const [listed, owners] = [await db.all(membersOf, [id, limit]), await db.all(ownersOf, [id, limit])]
  return { members: listed.map(({ member }) => member), owners: owners.map(({ owner }) => owner) }
}

export async function isGroupOwner(db: Database, id: string, name: string): Promise<boolean> {
  return (await db.get(isOwnerOf, [id, name])) !== undefined
}

/** A page in the order of names: of all groups, or of those that a name owns or is a member of. */
export async function listGroups(
  db: Database,
  name: string | undefined,
  after: string,
  limit: number,
): Promise<readonly Group[]> {
  const rows =
    name === undefined
      ? await db.all(every, [after, limit])
      : await db.all(ofName, [name, after, name, after, limit])
  return rows.map(toGroup)
}

/** Groups that list a member themselves. */
export async function findGroupsWith(
  db: Database,
  member: string,
  limit: number,
): Promise<readonly string[]> {
  return (await db.all(groupsWith, [member, limit])).map(({ group_id }) => group_id)
}

/** Groups that a group lists. */
export async function findGroupsIn(db: Database, id: string): Promise<readonly string[]> {
  return (await db.all(groupsIn, [id])).map(({ member }) => member)
}

/** Counts that bound the groups; those of `except` are not counted. */
export const groupCounts = {
  createdBy: async (db: Database, name: string): Promise<number> =>
    Number((await db.get(createdBy, [name]))?.total ?? 0),
  patterns: async (db: Database, except: string): Promise<number> =>
    Number((await db.get(countPatterns, [except]))?.total ?? 0),
  /** Groups that a member is in. */
  ofMember: async (db: Database, member: string, except: string): Promise<number> =>
    Number((await db.get(countOfMember, [toMemberRow(member)[1], except]))?.total ?? 0),
  /** Members of a group with those of its groups. */
  within: async (db: Database, id: string): Promise<number> =>
    Number((await db.get(countOfGroup, [id]))?.total ?? 0),
  /** Groups of that member of a group that is in most of them. */
  busiest: async (db: Database, id: string): Promise<number> =>
    Number((await db.get(busiestOf, [id]))?.total ?? 0),
}

/** Every change of groups raises this version: a change is planned on the result of the previous one. */
export async function readGroupHead(db: Database): Promise<number> {
  return (await db.get(head, []))?.version ?? 0
}

/** A member as it is stored: how it is looked up, and a pattern split at its `*`. */
export function toMemberRow(member: string): [member: string, lookup: string, head: string, tail: string] {
  const star = member.indexOf('*')
  if (star < 0) return [member, member, '', '']
  const [start, end] = [member.slice(0, star), member.slice(star + 1)]
  const [first, last] = anchors(start, end)
  return [member, [...first].length >= [...last].length ? first : last, start, end]
}

/**
 * Changes that give a group these lists. `affected`: the group, and those that contain it, in an order in which each
 * precedes those that contain it.
 */
export function groupChanges(
  group: Pick<Group, 'id'> & Partial<Group>,
  lists: ListChange,
  parts: {
    readonly head: number
    readonly affected: readonly string[]
    readonly by: string
    readonly now: number
  },
): Change[] {
  const { id, version } = group
  const { added, removed, ownersAdded, ownersRemoved } = compareLists(lists)
  return [
    change(advance, [parts.head], 1),
    version === undefined
      ? change(insertGroup, [id, parts.by, parts.now, parts.now, 1], 1)
      : change(touch, [parts.now, id, version], 1),
    ...removed.map((member) => change(removeMember, [id, member])),
    ...added.map((member) => change(insertMember, [id, ...toMemberRow(member)])),
    ...ownersRemoved.map((owner) => change(removeOwner, [id, owner])),
    ...ownersAdded.map((owner) => change(insertOwner, [id, owner])),
    ...parts.affected.flatMap(rebuildChanges),
  ]
}

function rebuildChanges(id: string): Change[] {
  return [change(removeFormer, [id, id, id, id]), change(insertNew, [id, id, id, id])]
}

/** A group goes away with the grants to it: the next group of the name has none of them. */
export function groupRemoval(
  { id, version }: Group,
  parts: { readonly head: number; readonly affected: readonly string[] },
): Change[] {
  return [
    change(advance, [parts.head], 1),
    change(removeGroup, [id, version], 1),
    ...deletesOfGroup.map((statement) => change(statement, [id])),
    ...parts.affected.filter((other) => other !== id).flatMap(rebuildChanges),
  ]
}

/** Part of a commit that names a group: it fails if the group is gone by then. */
export function requireGroupPresent(id: string): Change {
  return change(keepGroup, [id], 1)
}

/** Ends the memberships of a name, its ownership of groups, and the grants by tag to it and by it. */
export function membershipsEnd(name: string): readonly Change[] {
  return [change(raiseHead, []), ...deletesOfName.map((statement) => change(statement, [name]))]
}

/**
 * Transfers memberships, ownership of groups and grants by tag to another name. The grants by tag that the former owner
 * made have become grants on the keys.
 */
export function membershipsTransfer(from: string, to: string): readonly Change[] {
  return [
    change(copyTagGrants, [to, from, to]),
    change(copyMembers, [to, to, from]),
    change(copyMemberships, [to, from]),
    change(copyOwners, [to, from]),
    ...membershipsEnd(from),
  ]
}

/** Whether a grantee is the name of a group. */
export function isGroupName(name: string): boolean {
  return name.startsWith(groupPrefix)
}
