import { failure } from '@warder/base'
import {
  compareLists,
  findGroup,
  findGroupsOfName,
  type Group,
  groupBounds,
  groupCounts,
  hasCreateRight,
  isGovernor,
  isGroupOwner,
  type ListChange,
  listGroups,
  officerAccess,
  planGroup,
  planGroupRemoval,
  readGroupLists,
  readGroupName,
  readLists,
  requirePrincipal,
  signedIn,
} from '@warder/keys'
import { del, get, type Operation, type OperationContext, pageReply, put } from '@warder/server'
import { retryOnGuard, UniqueViolation } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { define, type RestServices } from './services.ts'

const attempts = 10
const pageSize = 1000
const path = '/access/groups'
const Names = (maxItems: number) => Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems })
const GroupPath = Type.Object({ name: Type.String() })
const GroupReply = Type.Object({
  name: Type.String(),
  user_id: Type.String({ description: 'Its name in grants: `group:NAME`.' }),
  members: Type.Array(Type.String()),
  owners: Type.Array(Type.String()),
  created_by: Type.String(),
  created_at: Type.String({ description: 'RFC 3339, UTC.' }),
  changed_at: Type.String({ description: 'RFC 3339, UTC.' }),
  version: Type.Integer({ description: 'Raised by each change.' }),
})
const ListedGroup = Type.Omit(GroupReply, ['members', 'owners'])

type Context = OperationContext<RestServices>

function formatListed({ id, createdBy, createdAt, changedAt, version }: Group): Static<typeof ListedGroup> {
  return {
    name: id.slice(id.indexOf(':') + 1),
    user_id: id,
    created_by: createdBy,
    created_at: new Date(createdAt).toISOString(),
    changed_at: new Date(changedAt).toISOString(),
    version,
  }
}

/** Whether the caller may change the group: as an owner, or as one who manages users. */
async function mayChange(context: Context, id: string): Promise<boolean> {
  const principal = requirePrincipal(context)
  if (await isGroupOwner(context.services.db, id, principal.name)) return true
  if (!(await isGovernor(context.services, principal))) return false
  context.audit(officerAccess)
  return true
}

function groupNotFound(): Error {
  return failure('not_found', 'Group not found.')
}

/** The group, for callers who may see it: owners, members, and those who manage users. @throws not_found */
async function requireVisible(context: Context, id: string): Promise<Group> {
  const { db } = context.services
  const group = await findGroup(db, id)
  const isMember = async () => (await findGroupsOfName(db, requirePrincipal(context).name)).includes(id)
  if (group === undefined || !((await isMember()) || (await mayChange(context, id)))) throw groupNotFound()
  return group
}

/** @throws failure('forbidden') */
async function requireRoomToCreate(context: Context, isGoverning: boolean): Promise<void> {
  const { db, roles } = context.services
  const { name } = requirePrincipal(context)
  if (!isGoverning && !(await hasCreateRight(db, roles, name))) throw failure('forbidden')
  if (!isGoverning && (await groupCounts.createdBy(db, name)) >= groupBounds.created)
    throw failure('forbidden', `You created the maximum number of groups (${groupBounds.created}).`)
}

interface GroupRequest {
  readonly id: string
  readonly members: readonly string[]
  readonly owners: readonly string[] | undefined
  readonly version: number | undefined
}

/** Reads the group, checks the caller and commits the lists. @returns the lists before and after */
async function changeOnce(context: Context, { id, members, owners, version }: GroupRequest): Promise<void> {
  const { db, roles, clock } = context.services
  const principal = requirePrincipal(context)
  const existing = await findGroup(db, id)
  if (existing === undefined)
    await requireRoomToCreate(context, await isGovernor(context.services, principal))
  else if (!(await mayChange(context, id)))
    throw failure('forbidden', 'Only owners of the group and crypto officers can change it.')
  if (version !== undefined && version !== (existing?.version ?? 0))
    throw failure('conflict', 'The group was changed since it was read: read it again.')
  const now = await currentOwners(context, existing, owners)
  const after = readLists(members, now)
  const planning = { db, officers: roles.officers, now: clock.now(), by: principal.name }
  const { lists, changes } = await planGroup(planning, id, existing, after)
  context.audit({ details: describeChange(lists) })
  await context.commit(changes)
}

/** The creator is an owner; a request without owners leaves them as they are. */
async function currentOwners(
  context: Context,
  existing: Group | undefined,
  owners: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (existing === undefined) return [...(owners ?? []), requirePrincipal(context).name]
  return owners ?? (await readGroupLists(context.services.db, existing.id, groupBounds.members)).owners
}

function describeChange(lists: ListChange) {
  const { added, removed, ownersAdded, ownersRemoved } = compareLists(lists)
  return { added, removed, owners_added: ownersAdded, owners_removed: ownersRemoved }
}

async function formatGroup({ services: { db } }: Context, id: string): Promise<Static<typeof GroupReply>> {
  const group = await findGroup(db, id)
  if (group === undefined) throw groupNotFound()
  const { members, owners } = await readGroupLists(db, id, groupBounds.members)
  return { ...formatListed(group), members: [...members], owners: [...owners] }
}

const replace = define({
  name: 'access.groups.replace',
  reach: ['change settings'],
  route: put(`${path}/{name}`),
  summary: 'Create a group, or replace its members and owners',
  description:
    'Members are users, machines (`app:NAME`), names of client certificates and workloads, patterns with one `*` for such names, and other groups (`group:NAME`), three in a chain. Rights are granted to `group:NAME`; a change of members counts on the next request.',
  tag: 'Access',
  access: signedIn,
  pathParameters: GroupPath,
  request: Type.Object({
    members: Names(groupBounds.members),
    owners: Type.Optional({
      ...Names(groupBounds.owners),
      description: 'Who may change it. Default: as they are; of a new group: its creator, who is always one.',
    }),
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'The version that was read: the group is changed only if it still has it. 0: it must be new.',
      }),
    ),
  }),
  reply: GroupReply,
  errors: {
    403: 'The caller may neither create groups nor change this one.',
    409: 'A bound is exceeded, or the group was changed concurrently.',
  },
  async act({ path: { name }, body }, context) {
    const id = readGroupName(name)
    context.audit({ object: id })
    const request = { id, members: body.members, owners: body.owners, version: body.version }
    await retryOnGuard(attempts, () => changeOnce(context, request)).catch((error: unknown) => {
      if (error instanceof UniqueViolation) throw failure('conflict', undefined, { cause: error })
      throw error
    })
    return formatGroup(context, id)
  },
})

const read = define({
  name: 'access.groups.read',
  reach: ['reveal grants'],
  route: get(`${path}/{name}`),
  summary: 'Members and owners of a group, for both and for crypto officers',
  tag: 'Access',
  access: signedIn,
  pathParameters: GroupPath,
  reply: GroupReply,
  errors: { 404: 'No such group, or the caller is neither in it nor an owner.' },
  async act({ path: { name } }, context) {
    const id = readGroupName(name)
    context.audit({ object: id })
    await requireVisible(context, id)
    return formatGroup(context, id)
  },
})

const list = define({
  name: 'access.groups.list',
  reach: ['reveal existence'],
  route: get(path),
  summary: 'Groups that the caller owns or is in, for crypto officers all of them, in pages',
  tag: 'Access',
  access: signedIn,
  queryParameters: Type.Object({
    after: Type.Optional(
      Type.String({ maxLength: 256, description: '`user_id` of the last group of the previous page.' }),
    ),
  }),
  paged: true,
  reply: Type.Array(ListedGroup),
  async act({ query: { after = '' } }, context) {
    if (/\p{Cc}/u.test(after) || !after.isWellFormed()) throw failure('bad_request', 'after is not a group.')
    const principal = requirePrincipal(context)
    const all = await isGovernor(context.services, principal)
    if (all) context.audit(officerAccess)
    const groups = await listGroups(context.services.db, all ? undefined : principal.name, after, pageSize)
    return pageReply(groups.map(formatListed), groups.length < pageSize ? undefined : groups.at(-1)?.id)
  },
})

const remove = define({
  name: 'access.groups.delete',
  reach: ['change settings'],
  route: del(`${path}/{name}`),
  summary: 'Delete a group, with the grants to it',
  tag: 'Access',
  access: signedIn,
  pathParameters: GroupPath,
  status: 204,
  errors: {
    403: 'The caller may not change the group.',
    404: 'No such group, or the caller is neither in it nor an owner.',
    409: 'Changed concurrently by another request.',
  },
  async act({ path: { name } }, context) {
    const id = readGroupName(name)
    context.audit({ object: id })
    await retryOnGuard(attempts, async () => {
      const group = await requireVisible(context, id)
      if (!(await mayChange(context, id)))
        throw failure('forbidden', 'Only owners of the group and crypto officers can delete it.')
      await context.commit(await planGroupRemoval(context.services.db, group))
    })
  },
})

/** Groups of principals (docs/adr/groups-and-roles.md). */
export const groupOperations: readonly Operation<RestServices>[] = [replace, read, list, remove]
