import { failure, type MaybePromise } from '@warder/base'
import type { AuditFields, Caller } from '@warder/server'
import type { Database } from '@warder/storage'
import { getChainId, type ManagedObject } from '../objects/managed-object.ts'
import { type PairMember, tagsOfPair } from '../objects/name-link-tag-store.ts'
import type { ApprovalPolicy } from './approval-policy.ts'
import { findGrantedRights, findRightsForEither } from './grant-store.ts'
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

/**
 * Whether the caller has `right` on the object: as owner, as officer, or by a grant that is read now. Grants are on keys,
 * not on their versions: they are looked up by the chain.
 * @param asOfficer called when only the role of crypto officer allows the access, so that the caller can audit it
 */
export function verdictOn(
  db: Database,
  roles: Roles,
  object: Pick<ManagedObject, 'id' | 'owner'> & Partial<Pick<ManagedObject, 'chainId'>>,
  caller: Caller,
  right: Right,
  asOfficer?: () => void,
): MaybePromise<Verdict> {
  const keyId = getChainId(object)
  const permitted = right === 'sign' && roles.reservedSigners?.has(keyId) === true ? 'reserved' : 'allowed'
  if (object.owner === caller.name) return permitted
  const verdictOnGrants = async (): Promise<Verdict> => {
    const officer = await roles.officers.isActive(caller.name)
    const granted = await findGrantedRights(db, keyId, caller)
    if (granted?.has(right) === true) return permitted
    if (officer && officerRights.has(right)) {
      asOfficer?.()
      return 'allowed'
    }
    return granted === undefined && !officer ? 'nothing' : 'lacks_this_right'
  }
  return verdictOnGrants()
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
  return (await findGrantedRights(db, anyObject, caller))?.has(auditRight) === true
}

/** Whether `user` may create an object now, by right and by quota. Call it once per creation, because it counts. */
export async function mayCreate(db: Database, roles: Roles, user: string): Promise<boolean> {
  if (!(await hasCreateRight(db, roles, user))) return false
  return roles.quota === undefined || roles.quota.hasRoom(user)
}
