import { failure } from '@warder/base'
import {
  exportRights,
  findGroup,
  type GeneralRight,
  groupPrefix,
  hasRoomForTagGrant,
  isGroupOrRoleName,
  type Right,
  requireGroupPresent,
  requirePrincipal,
  storeOfName,
  tagGrantChanges,
  tagRevokeChanges,
} from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { type Change, retryOnGuard } from '@warder/storage'
import { userTags } from './key-tags.ts'
import type { RestServices } from './services.ts'

type Services = Pick<RestServices, 'db' | 'roles'>

const attempts = 10

/**
 * General rights are those of persons and machines that were named one by one. Reading the audit log is the exception:
 * an identity provider may name auditors by a role.
 * @throws failure('bad_request')
 */
export function requireNamedPrincipal(user: string, general: readonly GeneralRight[]): void {
  const refused = general.find((right) => user.startsWith(groupPrefix) || right !== 'audit')
  if (!isGroupOrRoleName(user) || refused === undefined) return
  throw failure('bad_request', `The right \`${refused}\` can be granted only to named users and machines.`)
}

/**
 * Changes that a grant to a group adds to the commit: the group must still exist, since the next group of its name
 * inherits nothing. Other grantees add nothing.
 * @throws failure('bad_request') when there is no such group
 */
export async function requireGroup({ db }: Pick<Services, 'db'>, user: string): Promise<readonly Change[]> {
  if (!user.startsWith(groupPrefix)) return []
  if ((await findGroup(db, user)) === undefined) throw failure('bad_request', `There is no group ${user}.`)
  return [requireGroupPresent(user)]
}

/** Changes of a grant by tag. */
interface TagGrant {
  readonly tag: string
  readonly user: string
  readonly rights: readonly Right[]
  readonly general: readonly GeneralRight[]
  readonly gives: boolean
}

/**
 * Grants or revokes rights on all keys of the caller that have a tag, now or later.
 * @throws failure('bad_request' | 'forbidden' | 'conflict')
 */
export async function changeByTag(context: OperationContext<RestServices>, wanted: TagGrant): Promise<void> {
  const { db, roles } = context.services
  const { tag, user, rights, general, gives } = wanted
  const owner = requirePrincipal(context).name
  userTags([tag])
  context.audit({ details: { tag } })
  if (general.length > 0)
    throw failure('bad_request', `${general.join(' and ')} are no rights on keys: grant them without a tag.`)
  if (storeOfName(user) !== undefined)
    throw failure('bad_request', 'Rights of clouds are granted on each key: name it by unique_identifier.')
  const key = { owner, tag }
  if (!gives) {
    await context.commit(tagRevokeChanges(key, user, rights))
    return
  }
  const exported = rights.find((right) => exportRights.has(right))
  if (exported !== undefined && roles.approvals.coversAny('grant'))
    throw failure(
      'forbidden',
      `Grants of \`${exported}\` can require the approval of crypto officers here: grant it on each key.`,
    )
  await retryOnGuard(attempts, async () => {
    const guards = await requireGroup({ db }, user)
    if (!(await hasRoomForTagGrant(db, owner)))
      throw failure('conflict', 'You have the maximum number of grants by tag.')
    await context.commit([...guards, ...tagGrantChanges(key, user, rights)])
  })
}

/** Whether a right on material may be granted to this name where it requires approval: members change without one. */
export function requireNamedForApproval(user: string): void {
  if (isGroupOrRoleName(user))
    throw failure(
      'forbidden',
      'A grant of material that requires approval names a user: members of a group or a role change without approval.',
    )
}
