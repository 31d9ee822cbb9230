import { failure, isName } from '@warder/base'
import type { Access, OperationContext } from '@warder/server'
import Type from 'typebox'
import { findMachineToken, type Powers, requirePowers, requireSession } from '../callers.ts'
import { superRealm } from '../realms/realm.ts'
import type { MachineServices } from './tokens.ts'

/** Without slash: the name of a role is the entity of its tokens and must not resemble `namespace/account`. */
export const RoleName = Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$' })
export const RolePath = Type.Object({ name: RoleName })
export const RoleQuery = Type.Object({
  realm: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })),
  list: Type.Optional(Type.String({ maxLength: 16 })),
})

type Context = OperationContext<MachineServices>

/**
 * A machine token with this policy administers the roles of its realm, or of every realm when it is `_`, for Vault
 * clients that cannot use cookies. It cannot administer roles with one of the policies that this service itself
 * evaluates.
 */
const roleAdminPolicy = 'machine-roles-admin'

/** Returns the powers over roles of the caller. @throws failure('forbidden') when it has none */
export async function requireRolePowers(context: Context): Promise<Powers> {
  const token = findMachineToken(context)
  if (token === undefined) return requirePowers(context)
  const { realm, policies } = token
  if (!policies.includes(roleAdminPolicy)) {
    throw failure('forbidden', `The token has no policy ${roleAdminPolicy}: permission denied.`)
  }
  return {
    isSuper: false,
    realms: realm === superRealm ? [] : [realm],
    administers: (other) => realm === superRealm || realm === other,
  }
}

/** The operation decides which roles the caller may administer. */
export const roleAdmin: Access<MachineServices> = {
  name: `super administrator, administrator of the realm of the role, or machine token with the policy ${roleAdminPolicy}`,
  async check(_input, context) {
    await requireRolePowers(context)
  },
}

/** @throws failure('conflict') when `?realm=` names another realm than that of the role */
export function requireRealmOfRole(role: { readonly realm: string }, named: string | undefined): void {
  if (named === undefined || named === role.realm) return
  throw failure('conflict', 'A role with this name exists in another realm.')
}

/** @throws failure('forbidden') when the role belongs to a realm that the caller does not administer */
export async function requireRole(context: Context, role: { readonly realm: string }): Promise<void> {
  const powers = await requireRolePowers(context)
  if (!powers.administers(role.realm)) {
    throw failure('forbidden', 'This role belongs to a realm that you do not administer.')
  }
}

/**
 * The realm of a new role: the one in `?realm=`, else that of the session; for a realm admin who logged in to `_`,
 * their only realm.
 * @throws failure('forbidden' | 'bad_request')
 */
export async function realmOfNewRole(context: Context, named: string | undefined): Promise<string> {
  const powers = await requireRolePowers(context)
  const own = findMachineToken(context)?.realm ?? requireSession(context).session.realm
  const [only, ...others] = powers.realms
  let realm = named ?? own
  if (named === undefined && !powers.administers(realm) && realm === superRealm) {
    if (only === undefined || others.length > 0) {
      throw failure('bad_request', 'Specify the realm of the role with ?realm=.')
    }
    realm = only
  }
  if (!powers.administers(realm)) throw failure('forbidden', 'This needs rights over the realm of the role.')
  return realm
}

/**
 * Policies that this service itself evaluates: a token with one of them reads or ends sessions of other users, or
 * administers the roles of machines.
 */
const powerful: ReadonlySet<string> = new Set(['sessions', 'sessions-admin', roleAdminPolicy])

/** @throws failure('bad_request') when a policy has invisible characters */
export function checkPolicyNames(policies: readonly string[]): void {
  if (policies.every(isName)) return
  throw failure(
    'bad_request',
    'token_policies: must have no control or format characters and no blanks at their ends.',
  )
}

/**
 * @throws failure('forbidden') when a caller other than a super admin assigns such a policy, or takes over a role
 *   that has one
 */
export async function requirePolicies(context: Context, policies: readonly string[]): Promise<void> {
  if (!policies.some((policy) => powerful.has(policy))) return
  const powers = await requireRolePowers(context)
  if (!powers.isSuper)
    throw failure('forbidden', 'Only a super administrator may assign policies over sessions or roles.')
}
