import { failure, type MaybePromise } from '@warder/base'
import type { AuditFields, Caller } from '@warder/server'
import type { Database } from '@warder/storage'
import { getChainId, type ManagedObject } from '../objects/managed-object.ts'
import { type PairMember, tagsOfPair } from '../objects/name-link-tag-store.ts'
import type { ApprovalPolicy } from './approval-policy.ts'
import { storeOfName } from './external-names.ts'
import { findRightsForEither, isGrantedToAny } from './grant-store.ts'
import {
  findGrants,
  findGroupsOfName,
  formatWay,
  type GrantWay,
  groupPrefix,
  listTagGrants,
  rolePrefix,
} from './grantee-store.ts'
import type { Officers } from './officers.ts'
import type { OwnerQuota } from './quota.ts'
import {
  allUsers,
  anyObject,
  auditRight,
  createRight,
  externalRight,
  officerRights,
  type Right,
} from './right.ts'
import type { DestructionSettings } from './settings.ts'

/** How long destructions wait. */
interface DestructionPolicy {
  /** Days until an object is destroyed: the max of all rules; 0 = at once. */
  daysOf(object: Pick<ManagedObject, 'algorithm'> & PairMember): Promise<number>
  /** Tags that decide about it: taking one away would shorten the wait. */
  keeps(tag: string): boolean
}

export function createDestructionPolicy(
  { days, byTag, byAlgorithm }: DestructionSettings,
  db: Database,
): DestructionPolicy {
  return {
    async daysOf(object) {
      const { algorithm } = object
      const least = Math.max(days, byAlgorithm.get(algorithm ?? '') ?? 0)
      if (byTag.size === 0) return least
      const tags = await tagsOfPair(db, object)
      return Math.max(least, ...tags.map((tag) => byTag.get(tag) ?? 0))
    },
    keeps: (tag) => byTag.has(tag),
  }
}

/** Users with more rights than an owner, as configured. */
export interface Roles {
  /** If none are listed, no user is restricted. */
  readonly officers: Officers
  /** Operations that need the approval of officers. */
  readonly approvals: ApprovalPolicy
  /** How long destructions wait. */
  readonly destructions: DestructionPolicy
  /**
   * Keys of the settings with which this service itself signs, such as tokens of an external key store. No right
   * permits users to sign with them, because they could forge such tokens.
   */
  readonly reservedSigners?: ReadonlySet<string>
  /** `max_objects_per_owner`; undefined = no limit. */
  readonly quota?: OwnerQuota | undefined
}

export type Verdict = 'allowed' | 'lacks_this_right' | 'reserved' | 'nothing'

type Guarded = Pick<ManagedObject, 'id' | 'owner'> &
  Partial<Pick<ManagedObject, 'chainId' | 'type' | 'algorithm' | 'linkedId'>>

/** Why an access is allowed or not: the facts by which `verdictOn` decides, and which an explanation shows. */
interface Decision {
  readonly verdict: Verdict
  /** The rule that allows it; undefined: none. */
  readonly by?: 'owner' | 'officer' | GrantWay
  /** All grants that reach the caller, of other rights too. */
  readonly grants: readonly GrantWay[]
  /** Grants that are ignored, because grants of material on this object require approval. */
  readonly unapproved?: readonly GrantWay[]
}

/** Rights that permit key material to leave the service. */
export const exportRights: ReadonlySet<string> = new Set<Right>(['get', 'export'])

/**
 * Grants of material that do not name the caller, on an object for which such grants require approval: tags and members
 * change without one. They were made before the approval was required.
 */
async function findUnapproved(
  { approvals }: Roles,
  object: Guarded,
  grants: readonly GrantWay[],
  right: Right,
): Promise<readonly GrantWay[]> {
  if (!exportRights.has(right) || !approvals.coversAny('grant')) return []
  const shared = grants.filter((way) => way.operation === right && formatWay(way) !== undefined)
  if (shared.length === 0) return []
  const { type, algorithm } = object
  return type === undefined || (await approvals.covers('grant', { ...object, type, algorithm })) ? shared : []
}

/** Grants of a right, the plainest first: those that name the caller or all users, then shared ones, then tags. */
function findWay(grants: readonly GrantWay[], right: Right): GrantWay | undefined {
  const ways = grants.filter(({ operation }) => operation === right)
  return ways.find((way) => formatWay(way) === undefined) ?? ways.find(({ tag }) => tag === '') ?? ways[0]
}

/** The decision on an object of another owner. Grants are on keys, not on their versions. */
async function decideByGrants(
  db: Database,
  roles: Roles,
  object: Guarded,
  caller: Caller,
  right: Right,
  permitted: Verdict,
): Promise<Decision> {
  const officer = await roles.officers.isActive(caller.name)
  const grants = await findGrants(db, object, caller)
  const unapproved = await findUnapproved(roles, object, grants, right)
  const way = findWay(
    unapproved.length === 0 ? grants : grants.filter((one) => !unapproved.includes(one)),
    right,
  )
  if (way !== undefined) return { verdict: permitted, by: way, grants, unapproved }
  if (officer && officerRights.has(right)) return { verdict: 'allowed', by: 'officer', grants, unapproved }
  return { verdict: grants.length === 0 && !officer ? 'nothing' : 'lacks_this_right', grants, unapproved }
}

function verdictForHolder({ reservedSigners }: Roles, object: Guarded, right: Right): Verdict {
  return right === 'sign' && reservedSigners?.has(getChainId(object)) === true ? 'reserved' : 'allowed'
}

/** Decides as `verdictOn` does, with the reasons. */
export async function decideOn(
  db: Database,
  roles: Roles,
  object: Guarded,
  caller: Caller,
  right: Right,
): Promise<Decision> {
  const permitted = verdictForHolder(roles, object, right)
  if (object.owner === caller.name) return { verdict: permitted, by: 'owner', grants: [] }
  return decideByGrants(db, roles, object, caller, right, permitted)
}

/**
 * Whether the caller has `right` on the object: as owner, as officer, or by a grant that is read now. Synchronous for
 * the owner.
 * @param audit called when only the role of crypto officer, a group, a role or a tag allows the access
 */
export function verdictOn(
  db: Database,
  roles: Roles,
  object: Guarded,
  caller: Caller,
  right: Right,
  audit?: (fields: AuditFields) => void,
): MaybePromise<Verdict> {
  const permitted = verdictForHolder(roles, object, right)
  if (object.owner === caller.name) return permitted
  const byGrants = async (): Promise<Verdict> => {
    const { verdict, by } = await decideByGrants(db, roles, object, caller, right, permitted)
    if (by === 'officer') audit?.(officerAccess)
    const via = typeof by === 'object' ? formatWay(by) : undefined
    if (via !== undefined) audit?.({ details: { via } })
    return verdict
  }
  return byGrants()
}

/** Audit marker of an operation on another user's object that only a crypto officer may do. */
export const officerAccess: AuditFields = { details: { marker: 'CRYPTO_OFFICER_ACCESS' } }

/**
 * Denies unless the verdict is `allowed`. A caller without any right on a key does not learn that it exists.
 * @throws failure('not_found' | 'forbidden')
 */
export function requireAllowed(verdict: Verdict): void {
  if (verdict === 'allowed') return
  if (verdict === 'reserved') throw failure('forbidden', reservedSentence)
  throw verdict === 'lacks_this_right' ? failure('forbidden') : keyNotFound()
}

/** The refusal of a signature with one of `reservedSigners`. */
export const reservedSentence =
  'This key is configured for an external key store, which signs its own tokens with it: use another key.'

/**
 * A user who grants on the owner's behalf can grant and revoke only rights that they have themselves. Officers decide
 * which other users use a key, but cannot grant its use to themselves: not through a grant to all users, to one another,
 * to a group with an officer or to a role, and not through a cloud, in which they may have an account or create the
 * credential.
 */
export async function isBoundToOwnRights(
  { db, roles: { officers } }: { readonly db: Database; readonly roles: Roles },
  caller: string,
  user: string,
  gives: boolean,
): Promise<boolean> {
  if (!(await officers.isActive(caller))) return true
  if (!gives) return false
  if (user === allUsers || user.startsWith(rolePrefix) || storeOfName(user) !== undefined) return true
  if (!user.startsWith(groupPrefix)) return officers.listed.has(user)
  for (const officer of officers.listed) if ((await findGroupsOfName(db, officer)).includes(user)) return true
  return false
}

/**
 * A tag that a grant by tag names decides who reaches the key, so adding or removing it is a grant or a revocation: it
 * requires `authorize`, and the rights that are given or taken. Otherwise the right to change tags would give rights.
 * @throws failure('forbidden')
 */
export async function requireTagChange(
  { db, roles }: { readonly db: Database; readonly roles: Roles },
  object: Guarded,
  caller: Caller,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  if (object.owner === caller.name) return
  const added = after.filter((tag) => !before.includes(tag))
  const removed = before.filter((tag) => !after.includes(tag))
  for (const tag of [...added, ...removed]) {
    const granted = await listTagGrants(db, object.owner, tag)
    if (granted.length === 0) continue
    if ((await verdictOn(db, roles, object, caller, 'authorize')) !== 'allowed')
      throw failure(
        'forbidden',
        `Rights are granted by the tag ${tag}: changing it requires the right authorize.`,
      )
    const lacking = await findLackedRight({ db, roles }, object, caller, granted, added.includes(tag))
    if (lacking !== undefined)
      throw failure(
        'forbidden',
        `The tag ${tag} grants the right ${lacking}: changing it requires this right as well.`,
      )
  }
}

/** A right among these grants that the caller may not grant or revoke on the object. */
async function findLackedRight(
  services: { readonly db: Database; readonly roles: Roles },
  object: Guarded,
  caller: Caller,
  granted: readonly GrantWay[],
  gives: boolean,
): Promise<string | undefined> {
  const held = new Map<string, boolean>()
  for (const { user_id: user, operation } of granted) {
    if (held.get(operation) === true) continue
    if (!(await isBoundToOwnRights(services, caller.name, user, gives))) continue
    const verdict = await verdictOn(services.db, services.roles, object, caller, operation as Right)
    if (verdict === 'lacks_this_right' || verdict === 'nothing') return operation
    held.set(operation, true)
  }
  return undefined
}

export function keyNotFound(): Error {
  return failure('not_found', 'Key not found.')
}

/**
 * All users may create, unless officers are listed: then only officers and users to whom they granted `create`. Dormant
 * officers may create too, because a ceremony begins with a key.
 */
export async function hasCreateRight(db: Database, roles: Roles, user: string): Promise<boolean> {
  const { listed } = roles.officers
  if (listed.size === 0 || listed.has(user)) return true
  return (await findRightsForEither(db, anyObject, user, allUsers))?.has(createRight) === true
}

/**
 * Active crypto officers, and users to whom they granted `external` by name, manage external key stores. If no officers
 * are listed, `default_username` does.
 */
export async function hasExternalRight(
  db: Database,
  roles: Roles,
  defaultUsername: string,
  user: string,
): Promise<boolean> {
  const { officers } = roles
  if (officers.listed.size === 0) return user === defaultUsername
  if (await officers.isActive(user)) return true
  return (
    user !== allUsers && (await findRightsForEither(db, anyObject, user, user))?.has(externalRight) === true
  )
}

/**
 * Active crypto officers, and callers to whom they granted `audit`, read the audit log. If no officers are listed,
 * `default_username` does.
 */
export async function hasAuditRight(
  db: Database,
  roles: Roles,
  defaultUsername: string,
  caller: Caller,
): Promise<boolean> {
  const { officers } = roles
  if (officers.listed.size === 0) return caller.name === defaultUsername
  if (await officers.isActive(caller.name)) return true
  return isGrantedToAny(db, anyObject, auditRight, [caller.name, ...(caller.roles ?? [])])
}

/** Whether `user` may create an object now, by right and by quota. Call it once per creation, because it counts. */
export async function mayCreate(db: Database, roles: Roles, user: string): Promise<boolean> {
  if (!(await hasCreateRight(db, roles, user))) return false
  return roles.quota === undefined || roles.quota.hasRoom(user)
}
