import { failure } from '@warder/base'
import { JwtRejected, type OperationContext, serviceAccountAlgorithms, verifyToken } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import { countLogin, countTokens } from '../counting/counting.ts'
import { takeLogin } from '../login/throttle-login.ts'
import { machineAuth } from './auth-reply.ts'
import { entityNames } from './entity.ts'
import { isWithin, requireKnownAddress } from './limits.ts'
import {
  findOrchestratorRole,
  type OrchestratorRole,
  orchestratorRoleUnchanged,
} from './orchestrator-store.ts'
import type { MachineServices } from './services.ts'
import { issueToken } from './tokens.ts'

/** Minimum interval between fetches of a key set for unknown keys. */
const refreshSeconds = 60
const leewaySeconds = 60

/** A service account. Namespace and name are DNS labels, so they contain no separator. */
const serviceAccount =
  /^system:serviceaccount:([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?):([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$/

/**
 * Exchanges a service-account token for a machine token.
 * @throws failure('bad_request') for an unknown role or a wrong token, with the same message for both;
 *   failure('forbidden') when the account is not on the lists of the role
 */
export function logInByOrchestrator(
  context: OperationContext<MachineServices>,
  roleName: string,
  token: string,
): Promise<ReturnType<typeof machineAuth>> {
  const login = () => exchange(context, roleName, token)
  return countLogin(context.services.metrics, 'orchestrator', login, () => 'authenticated')
}

async function exchange(
  context: OperationContext<MachineServices>,
  roleName: string,
  token: string,
): Promise<ReturnType<typeof machineAuth>> {
  takeLogin(context)
  const { db, now } = context.services
  return retryOnGuard(5, async () => {
    const role = await findOrchestratorRole(db, roleName)
    if (role === undefined) {
      context.audit({ auth_method: 'orchestrator', reason: 'unknown_role' })
      throw wrongToken()
    }
    context.audit({ realm: role.realm, object: role.name, auth_method: 'orchestrator' })
    const account = await authenticateAccount(context, role, token)
    const entity = entityNames.account(role.realm, account.namespace, account.name)
    if (!allows(role.namespaces, account.namespace) || !allows(role.names, account.name)) {
      context.audit({ reason: 'account_not_allowed', details: { account: entity } })
      throw failure('forbidden', 'The service account is not allowed by this role.')
    }
    context.audit({ principal: entity })
    requireKnownAddress(context, role.tokenLimits.boundCidrs)
    if (!isWithin(role.tokenLimits.boundCidrs, context.request)) {
      context.audit({ reason: 'address_not_bound' })
      throw failure('forbidden', 'Tokens of this role are not permitted from this address.')
    }
    const issued = issueToken(
      {
        kind: 'orchestrator',
        name: role.name,
        realm: role.realm,
        policies: role.policies,
        tokenTtl: role.tokenTtl,
        limits: role.tokenLimits,
      },
      entity,
      now(),
    )
    await context.commit([orchestratorRoleUnchanged(role), issued.insertion])
    countTokens(context.services.metrics, 'issued')
    return machineAuth(issued.secret, true, issued.leaseDuration, role.policies, {
      role: role.name,
      service_account_name: account.name,
      service_account_namespace: account.namespace,
    })
  })
}

async function authenticateAccount(
  context: OperationContext<MachineServices>,
  role: OrchestratorRole,
  token: string,
): Promise<{ readonly namespace: string; readonly name: string }> {
  const { services, log } = context
  const audiences = role.boundAudiences ?? []
  const expected = {
    issuer: role.expectedIssuer,
    audience: audiences.length === 0 ? undefined : audiences,
    requiredClaims: ['sub', 'exp'],
    leewaySeconds,
    algorithms: serviceAccountAlgorithms,
  }
  try {
    const keys = services.providers.keySet(role.jwksUrl, refreshSeconds)
    const { claims } = await verifyToken(token, keys, expected, services.clock)
    const match = typeof claims.sub === 'string' ? serviceAccount.exec(claims.sub) : null
    if (match?.[1] !== undefined && match[3] !== undefined) return { namespace: match[1], name: match[3] }
  } catch (error) {
    if (!(error instanceof JwtRejected)) throw error
    log.info({ reason: error.message }, 'a service-account token was refused')
  }
  context.audit({ reason: 'invalid_token' })
  throw wrongToken()
}

const allows = (list: readonly string[], name: string): boolean => list.includes('*') || list.includes(name)

function wrongToken(): Error {
  return failure('bad_request', 'The role or the token is not valid.')
}
