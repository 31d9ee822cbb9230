import { failure } from '@warder/base'
import type { OperationContext } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import { countLogin, countTokens } from '../counting/counting.ts'
import { takeLogin } from '../login/throttle-login.ts'
import { type AppRole, appRoleUnchanged, findAppRoleById } from './approle-store.ts'
import { machineAuth } from './auth-reply.ts'
import { entityNames } from './entity.ts'
import { areSubset, isWithin, requireKnownAddress } from './limits.ts'
import { findSecretId, type SecretId, secretIdUse } from './secret-id-store.ts'
import type { MachineServices } from './services.ts'
import { issueToken } from './tokens.ts'

type Context = OperationContext<MachineServices>

/** Maximum retries of a commit that conflicts with concurrent uses of the same secret id. */
const tries = 200

/**
 * Exchanges a role id and a secret id for a token. One commit consumes the secret id and issues the token.
 * @throws failure('bad_request') for a wrong id, always with the same message; failure('forbidden') for an exhausted
 *   secret id
 */
export function logInByAppRole(
  context: Context,
  roleId: string,
  secret: string | undefined,
): Promise<ReturnType<typeof machineAuth>> {
  const login = () => exchange(context, roleId, secret)
  return countLogin(context.services.metrics, 'approle', login, () => 'authenticated')
}

async function exchange(
  context: Context,
  roleId: string,
  secret: string | undefined,
): Promise<ReturnType<typeof machineAuth>> {
  takeLogin(context)
  const { db, now } = context.services
  return retryOnGuard(tries, async () => {
    const role = await findAppRoleById(db, roleId)
    if (role === undefined) {
      context.audit({ auth_method: 'approle', reason: 'wrong_role_id' })
      throw wrongIds()
    }
    context.audit({ principal: role.name, auth_method: 'approle', realm: role.realm, object: role.name })
    const used = role.bindSecretId ? await usableSecretId(context, role, secret) : undefined
    const boundCidrs = requireAddress(context, role, used)
    const issued = issueToken(
      {
        kind: 'approle',
        name: role.name,
        realm: role.realm,
        policies: role.policies,
        tokenTtl: role.tokenTtl,
        limits: { ...role.tokenLimits, boundCidrs },
      },
      entityNames.appRole(role.realm, role.name),
      now(),
    )
    const use = used === undefined ? [] : [secretIdUse(used, now())]
    if (used !== undefined) context.audit({ details: { secret_id_accessor: used.accessor } })
    await context.commit([appRoleUnchanged(role), ...use, issued.insertion])
    countTokens(context.services.metrics, 'issued')
    return machineAuth(issued.secret, true, issued.leaseDuration, role.policies, { role_name: role.name })
  })
}

async function usableSecretId(context: Context, role: AppRole, value: string | undefined): Promise<SecretId> {
  const { db, now } = context.services
  const secret = value === undefined ? undefined : await findSecretId(db, value)
  const known =
    secret !== undefined &&
    secret.roleName === role.name &&
    (secret.expiresAt === 0 || secret.expiresAt > now())
  if (!known) {
    context.audit({ principal: 'unauthenticated', reason: 'wrong_secret_id' })
    throw wrongIds()
  }
  if (secret.usesLeft === 0) {
    context.audit({ principal: 'unauthenticated', reason: 'exhausted_secret_id' })
    throw failure('forbidden', 'The SecretID has no uses left.')
  }
  return secret
}

/**
 * A client with valid ids learns that its address is refused; the refusal does not count as a use of the secret id.
 * @returns the address blocks of the token
 * @throws failure('forbidden')
 */
function requireAddress(context: Context, role: AppRole, secret: SecretId | undefined): readonly string[] {
  const { request } = context
  const refuse = (reason: string, sentence: string): Error => {
    context.audit({ reason })
    return failure('forbidden', sentence)
  }
  const [login, token] = [role.secretIdLimits.boundCidrs, role.tokenLimits.boundCidrs]
  const { boundCidrs = [], tokenBoundCidrs = [] } = secret ?? {}
  if (!areSubset(boundCidrs, login) || !areSubset(tokenBoundCidrs, token))
    throw refuse(
      'secret_id_outside_role',
      'The address blocks of the SecretID are not within those of its role.',
    )
  requireKnownAddress(context, login, token, boundCidrs, tokenBoundCidrs)
  if (!isWithin(login, request) || !isWithin(boundCidrs, request))
    throw refuse('address_not_bound', 'The SecretID is not permitted from this address.')
  const blocks = tokenBoundCidrs.length > 0 ? tokenBoundCidrs : token
  if (!isWithin(blocks, request))
    throw refuse('address_not_bound', 'Tokens of this role are not permitted from this address.')
  return blocks
}

function wrongIds(): Error {
  return failure('bad_request', 'The RoleID or the SecretID is invalid.')
}
