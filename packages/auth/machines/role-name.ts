import { failure } from '@warder/foundation/errors'
import { isName } from '@warder/foundation/names'
import type { OperationContext } from '@warder/foundation/operations'
import Type from 'typebox'
import { powersOfCaller, sessionOf } from '../callers.ts'
import { superRealm } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'

/** No slash: a role's name is the entity of its tokens, and must not look like `namespace/account`. */
export const RoleName = Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$' })
export const RolePath = Type.Object({ name: RoleName })
export const RoleQuery = Type.Object({
  realm: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })),
  list: Type.Optional(Type.String({ maxLength: 16 })),
})

/** Seconds; 0 has a meaning of its own, 10 years is as good as for ever. */
export const Seconds = Type.Integer({ minimum: 0, maximum: 10 * 366 * 86_400 })

type Context = OperationContext<AuthServices>

/** @throws failure('conflict') when `?realm=` names another realm than that of the role */
export function requireRealmOfRole(role: { readonly realm: string }, named: string | undefined): void {
  if (named === undefined || named === role.realm) return
  throw failure('conflict', 'A role with this name exists in another realm.')
}

/** @throws failure('forbidden') when the role belongs to a realm that the caller does not administer */
export async function requireRole(context: Context, role: { readonly realm: string }): Promise<void> {
  const powers = await powersOfCaller(context)
  if (!powers.administers(role.realm)) {
    throw failure('forbidden', 'This role belongs to a realm that you do not administer.')
  }
}

/**
 * The realm that a new role belongs to: the one that `?realm=` names, else the session's; for a realm admin who logged
 * in to `_`, the only realm there is.
 * @throws failure('forbidden' | 'bad_request')
 */
export async function realmOfNewRole(context: Context, named: string | undefined): Promise<string> {
  const powers = await powersOfCaller(context)
  const { session } = sessionOf(context)
  const [only, ...others] = powers.realms
  let realm = named ?? session.realm
  if (named === undefined && !powers.isSuper && realm === superRealm) {
    if (only === undefined || others.length > 0) {
      throw failure('bad_request', 'Say with ?realm= which realm the role belongs to.')
    }
    realm = only
  }
  if (!powers.administers(realm)) throw failure('forbidden', 'This needs rights over the realm of the role.')
  return realm
}

/** Policies that this service itself obeys: with one of them a token reads or ends other people's sessions. */
const powerful: ReadonlySet<string> = new Set(['sessions', 'sessions-admin'])

/** @throws failure('bad_request') when a policy has characters that cannot be seen */
export function checkPolicyNames(policies: readonly string[]): void {
  if (policies.every(isName)) return
  throw failure(
    'bad_request',
    'token_policies: must have no control or format characters and no blanks at their ends.',
  )
}

/** @throws failure('forbidden') when a realm admin hands out a policy over sessions, or gets hold of a role with one */
export async function requirePolicies(context: Context, policies: readonly string[]): Promise<void> {
  if (!policies.some((policy) => powerful.has(policy))) return
  const powers = await powersOfCaller(context)
  if (!powers.isSuper)
    throw failure('forbidden', 'Only a super administrator may give policies over sessions.')
}
