import { failure, isName } from '@warder/base'
import type { Change, Database } from '@warder/storage'
import { foldAscii, normalizeName, storeOfName } from './external-names.ts'
import { findGroupsOfName, groupPrefix, patternAnchor, rolePrefix } from './grantee-store.ts'
import {
  findGroup,
  findGroupsIn,
  findGroupsWith,
  type Group,
  type GroupLists,
  groupChanges,
  groupCounts,
  groupRemoval,
  isGroupName,
  type ListChange,
  readGroupHead,
  readGroupLists,
} from './group-store.ts'
import { endedPrefix } from './names.ts'
import type { Officers } from './officers.ts'

/** Bounds of groups (docs/adr/groups-and-roles.md). */
export const groupBounds = {
  /** Members that a group lists itself. */
  members: 2000,
  owners: 64,
  /** Members of a group with those of its groups. */
  allMembers: 10_000,
  /** Groups in a chain in which each contains the next. */
  depth: 3,
  /** Groups that a group lists itself, and groups that contain it. */
  groups: 64,
  /** Groups that a principal is in, directly or through other groups. */
  ofMember: 256,
  /** Patterns in all groups. */
  patterns: 256,
  /** Groups that one user creates. */
  created: 1000,
} as const

/** Max length of a grantee in a request. */
const maxGrantee = 256

/** The grantee `group:NAME`. @throws failure('bad_request') */
export function readGroupName(name: string): string {
  const id = `${groupPrefix}${name}`
  const isPlain = isName(name) && name.normalize('NFC') === name && !name.includes('*')
  if (
    !isPlain ||
    id.length > maxGrantee ||
    isGroupOrRoleName(name) ||
    storeOfName(normalizeName(name)) !== undefined
  )
    throw failure(
      'bad_request',
      'The name of a group has 1 to 250 characters in Unicode form NFC, without `*`, invisible characters and surrounding blanks, and does not begin with group:, role: or the prefix of a cloud.',
    )
  return id
}

/** Whether a name has the prefix of a group or a role, in any case. */
export function isGroupOrRoleName(name: string): boolean {
  const folded = foldAscii(name)
  return folded.startsWith(groupPrefix) || folded.startsWith(rolePrefix)
}

/**
 * The normal form of a grantee that is a group or a role; undefined for other names.
 * @throws failure('bad_request') for a malformed one
 */
export function readGroupOrRole(name: string): string | undefined {
  if (name.startsWith(groupPrefix)) return readGroupName(name.slice(groupPrefix.length))
  if (/^role:[^/*]+\/./su.test(name) && name.normalize('NFC') === name) return name
  if (!isGroupOrRoleName(name)) return undefined
  throw failure(
    'bad_request',
    'A group is named group:NAME, a role role:SOURCE/NAME, with the prefix in lower case.',
  )
}

/** @throws failure('bad_request') that names the member and the rule */
function readMember(text: string): string {
  const problem = (rule: string) => failure('bad_request', `The member ${JSON.stringify(text)}: ${rule}`)
  if (!isName(text) || text.length > maxGrantee) throw problem('it is not the name of a principal.')
  if (text.startsWith(groupPrefix)) return readGroupName(text.slice(groupPrefix.length))
  const name = normalizeName(text)
  if (text === '*') throw problem('all users are no members of a group: grant the right to `*`.')
  if (isGroupOrRoleName(text)) throw problem('roles are no members of groups: grant the right to the role.')
  if (storeOfName(name) !== undefined)
    throw problem('principals of clouds are no members of groups: grant the right to them.')
  if (name.startsWith(endedPrefix)) throw problem('it is a deleted user.')
  const parts = name.split('*')
  if (parts.length > 2) throw problem('a pattern has one `*`.')
  if (parts.length === 2 && !parts.some((part) => [...part].length >= patternAnchor))
    throw problem(`a pattern has at least ${patternAnchor} characters before or after its \`*\`.`)
  return name
}

/** @throws failure('bad_request') */
function readGroupOwner(text: string): string {
  const isUser = isName(text) && text.length <= maxGrantee && !text.includes('*') && !isGroupOrRoleName(text)
  if (!isUser || text.startsWith(endedPrefix) || storeOfName(normalizeName(text)) !== undefined)
    throw failure('bad_request', `The owner ${JSON.stringify(text)} is not the name of a user or a machine.`)
  return text
}

/** Reads and sorts the lists of a request. @throws failure('bad_request') */
export function readLists(members: readonly string[], owners: readonly string[]): GroupLists {
  const lists = {
    members: [...new Set(members.map(readMember))].sort(),
    owners: [...new Set(owners.map(readGroupOwner))].sort(),
  }
  if (lists.owners.length === 0) throw failure('bad_request', 'A group has at least one owner.')
  return lists
}

/** Whether a pattern with one `*` fits a name: its beginning and its end, without overlap. */
function fitsPattern(pattern: string, name: string): boolean {
  const star = pattern.indexOf('*')
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)]
  return name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail)
}

/** Members of a list that cover a name: the name itself, patterns, and groups that the name is in. */
async function findCovering(
  db: Database,
  name: string,
  members: readonly string[],
): Promise<readonly string[]> {
  const groups = new Set(await findGroupsOfName(db, name))
  return members.filter(
    (member) => member === name || groups.has(member) || (member.includes('*') && fitsPattern(member, name)),
  )
}

/** The way from a group to a name in it, through other groups and to the pattern or the name; empty: there is none. */
export async function findGroupPath(db: Database, id: string, name: string): Promise<readonly string[]> {
  let level: readonly (readonly string[])[] = [[id]]
  for (let depth = 0; depth < groupBounds.depth; depth++) {
    const below: (readonly string[])[] = []
    for (const path of level) {
      const { members } = await readGroupLists(db, path.at(-1) ?? '', groupBounds.members)
      const last = members.find(
        (member) => member === name || (member.includes('*') && fitsPattern(member, name)),
      )
      if (last !== undefined) return [...path, last]
      below.push(...members.filter(isGroupName).map((group) => [...path, group]))
    }
    level = below
  }
  return []
}

/**
 * Officers decide who uses keys, but cannot make themselves or one another users: by no membership either.
 * @throws failure('forbidden')
 */
async function requireNoOfficerAdded(
  db: Database,
  { listed }: Officers,
  by: string,
  { before, after }: ListChange,
): Promise<void> {
  if (!listed.has(by)) return
  for (const officer of listed) {
    if ((await findCovering(db, officer, after.members)).length === 0) continue
    if ((await findCovering(db, officer, before.members)).length > 0) continue
    throw failure(
      'forbidden',
      `Crypto officers cannot add themselves or one another to a group (${officer}): an owner of the group who is no officer can.`,
    )
  }
}

/** The group and the groups that contain it, with the depth above it. */
async function findAffected(
  db: Database,
  id: string,
): Promise<{ readonly ids: readonly string[]; readonly up: number }> {
  const ids = [id]
  let up = 0
  for (let level: readonly string[] = [id]; ; up++) {
    const above = new Set<string>()
    for (const one of level)
      for (const container of await findGroupsWith(db, one, groupBounds.groups + 1)) above.add(container)
    level = [...above].filter((one) => !ids.includes(one))
    if (level.length === 0) return { ids, up }
    ids.push(...level)
    if (ids.length > groupBounds.groups + 1)
      throw failure('conflict', `The group is in more than ${groupBounds.groups} groups.`)
  }
}

/**
 * Groups below a list of members, level by level. @returns how many levels there are
 * @throws failure('bad_request') for a cycle, by its names
 */
async function requireNoCycle(db: Database, id: string, members: readonly string[]): Promise<number> {
  let level = members.filter(isGroupName).map((member) => [member])
  for (let depth = 0; ; depth++) {
    const cycle = level.find((path) => path.at(-1) === id)
    if (cycle !== undefined)
      throw failure('bad_request', `The group would contain itself: ${[id, ...cycle].join(' > ')}.`)
    if (level.length === 0) return depth
    if (depth + 1 >= groupBounds.depth)
      throw failure(
        'bad_request',
        `At most ${groupBounds.depth} groups contain one another: ${[id, ...(level[0] ?? [])].join(' > ')}.`,
      )
    const below: string[][] = []
    for (const path of level)
      for (const member of await findGroupsIn(db, path.at(-1) ?? '')) below.push([...path, member])
    level = below
  }
}

function boundExceeded(counted: string, max: number): Error {
  return failure('conflict', `${counted}: at most ${max}.`)
}

async function requireBounds(
  db: Database,
  id: string,
  { before, after }: ListChange,
  containing: number,
): Promise<void> {
  if (after.members.length > groupBounds.members)
    throw boundExceeded('Members of a group', groupBounds.members)
  if (after.owners.length > groupBounds.owners) throw boundExceeded('Owners of a group', groupBounds.owners)
  const groups = after.members.filter(isGroupName)
  if (groups.length > groupBounds.groups) throw boundExceeded('Groups in a group', groupBounds.groups)
  const patterns = after.members.filter((member) => member.includes('*')).length
  if (patterns > 0 && (await groupCounts.patterns(db, id)) + patterns > groupBounds.patterns)
    throw boundExceeded('Patterns in all groups', groupBounds.patterns)
  let all = after.members.length
  const known = new Set(before.members)
  for (const member of after.members) {
    if (isGroupName(member)) {
      all += await groupCounts.within(db, member)
      if (!known.has(member) && (await groupCounts.busiest(db, member)) + containing > groupBounds.ofMember)
        throw boundExceeded(`Groups of a member of ${member}`, groupBounds.ofMember)
    } else if (
      !known.has(member) &&
      (await groupCounts.ofMember(db, member, id)) + containing > groupBounds.ofMember
    )
      throw boundExceeded(`Groups that ${member} is in`, groupBounds.ofMember)
  }
  if (all > groupBounds.allMembers)
    throw boundExceeded('Members of a group with those of its groups', groupBounds.allMembers)
}

/** Services for the planning of a change of groups. */
interface Planning {
  readonly db: Database
  readonly officers: Officers
  readonly now: number
  /** The caller. */
  readonly by: string
}

/**
 * Changes that give a group these members and owners. The commit fails by a guard if any group changed meanwhile: each
 * change is checked against all groups.
 * @throws failure('bad_request' | 'conflict' | 'forbidden')
 */
export async function planGroup(
  { db, officers, now, by }: Planning,
  id: string,
  existing: Group | undefined,
  after: GroupLists,
): Promise<{ readonly lists: ListChange; readonly changes: Change[] }> {
  const head = await readGroupHead(db)
  const before =
    existing === undefined ? { members: [], owners: [] } : await readGroupLists(db, id, groupBounds.members)
  const lists = { before, after }
  for (const member of after.members)
    if (isGroupName(member) && member !== id && (await findGroup(db, member)) === undefined)
      throw failure('bad_request', `There is no group ${member}.`)
  const below = await requireNoCycle(db, id, after.members)
  const { ids, up } = await findAffected(db, id)
  if (up + 1 + below > groupBounds.depth)
    throw failure(
      'bad_request',
      `At most ${groupBounds.depth} groups contain one another: ${id} is in other groups (${ids.slice(1, 4).join(', ')}).`,
    )
  await requireBounds(db, id, lists, ids.length)
  await requireNoOfficerAdded(db, officers, by, lists)
  return { lists, changes: groupChanges(existing ?? { id }, lists, { head, affected: ids, by, now }) }
}

/** Changes that delete a group, with the grants to it and its membership in other groups. */
export async function planGroupRemoval(db: Database, group: Group): Promise<Change[]> {
  const head = await readGroupHead(db)
  const { ids } = await findAffected(db, group.id)
  return groupRemoval(group, { head, affected: ids })
}
