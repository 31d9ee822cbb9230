import { failure } from '@warder/base'
import { type Access, defineOperation, get, methods, type OperationContext } from '@warder/server'
import { GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { countTokens } from '../counting.ts'
import { findAppRole } from './approle-store.ts'
import { endOfLease } from './limits.ts'
import { findOrchestratorRole } from './orchestrator-store.ts'
import { type MachineToken, tokenEnd, tokenRenewal, tokenRevocation } from './token-store.ts'
import {
  MachineAuthReply,
  type MachineServices,
  machineAuth,
  type UsedToken,
  useToken,
  vaultErrors,
  withAliases,
} from './tokens.ts'

const define = defineOperation<MachineServices>()
type Context = OperationContext<MachineServices>

const common = { tag: 'Machines: tokens', errorShape: vaultErrors, anyContentType: true } as const

/**
 * Returns the live token of a request; its access check has counted the use. @throws failure('forbidden') when there
 * is none
 */
async function requireLiveToken({ services, request }: Context): Promise<UsedToken> {
  const used = await useToken(services, request)
  if (used === undefined) throw invalidToken()
  return used
}

const invalidToken = (): Error =>
  failure('forbidden', 'The token is missing or not valid: permission denied.')

/** Reads the current maximum lifetime of tokens of the role; 0 = unlimited. */
async function readMaxTtl(
  { services: { db } }: Context,
  { roleKind, roleName }: MachineToken,
): Promise<number> {
  const find = roleKind === 'approle' ? findAppRole : findOrchestratorRole
  return (await find(db, roleName))?.tokenLimits.maxTtl ?? 0
}

/**
 * The token itself is the credential. Access is `public` for the dispatcher, which would answer 401 where the
 * interface requires 403, with the same message for a token that is missing, unknown, expired or revoked.
 */
const machineToken: Access<MachineServices> = {
  name: 'machine token',
  public: true,
  credentials: ['secretToken', 'vaultToken', 'bearer'],
  async check(_input, context) {
    const { entity, realm, roleName } = (await requireLiveToken(context)).token
    context.audit({ principal: entity, auth_method: 'machine_token', realm, details: { role: roleName } })
  },
}

export const tokenOperations = withAliases([
  define({
    ...common,
    name: 'token.lookup_self',
    reach: ['reveal attributes'],
    route: get('/auth/token/lookup-self'),
    summary: 'Properties of the token',
    access: machineToken,
    reply: Type.Object({
      data: Type.Object({
        id: Type.String(),
        entity_id: Type.String(),
        policies: Type.Array(Type.String()),
        renewable: Type.Boolean(),
        ttl: Type.Integer(),
        creation_time: Type.Integer(),
        num_uses: Type.Optional(
          Type.Integer({
            description: 'Remaining uses of a token with a limit; -1: this request was the last one.',
          }),
        ),
        bound_cidrs: Type.Optional(
          Type.Array(Type.String(), {
            description: 'Address blocks from which the token may be used, if it is bound to any.',
          }),
        ),
      }),
    }),
    errors: { 403: 'The token is missing or not valid.' },
    // Not audited, like whoami: other services call it at each request, and the records would flood the audit
    // log.
    audited: false,
    async act(_input, context) {
      const { secret, token } = await requireLiveToken(context)
      const ttl = token.expiresAt === 0 ? token.leaseDuration : token.expiresAt - context.services.now()
      return {
        data: {
          id: secret,
          entity_id: token.entity,
          policies: token.policies,
          renewable: token.renewable,
          ttl,
          creation_time: token.createdAt,
          ...(token.usesLeft !== -1 && { num_uses: token.usesLeft || -1 }),
          ...(token.boundCidrs.length > 0 && { bound_cidrs: [...token.boundCidrs] }),
        },
      }
    },
  }),
  define({
    ...common,
    name: 'token.renew_self',
    reach: ['change state'],
    route: methods(['POST', 'PUT'], '/auth/token/renew-self'),
    summary: 'Renew the lease of the token',
    access: machineToken,
    bodyOptional: true,
    request: Type.Object({}),
    foreignMembers: {
      names: ['increment'],
      because: 'Ignored, as Vault permits: the role determines the lease.',
    },
    reply: MachineAuthReply,
    errors: { 403: 'The token is missing, not valid or not renewable.' },
    async act(_input, context) {
      const { secret, token } = await requireLiveToken(context)
      if (!token.renewable) throw failure('forbidden', 'The token is not renewable.')
      const now = context.services.now()
      const maxTtl = await readMaxTtl(context, token)
      const caps = [maxTtl === 0 ? 0 : token.createdAt + maxTtl, token.explicitEnd]
      const end = endOfLease(now, token.leaseDuration, caps)
      // The role may allow a shorter lifetime than before, so that the token is already past it.
      if (end !== 0 && end <= now) throw invalidToken()
      try {
        await context.commit([tokenRenewal(token, end, now)])
      } catch (error) {
        if (error instanceof GuardFailed) throw invalidToken()
        throw error
      }
      countTokens(context.services.metrics, 'renewed')
      return machineAuth(secret, token.renewable, end === 0 ? 0 : end - now, token.policies, {})
    },
  }),
  define({
    ...common,
    name: 'token.revoke_self',
    reach: ['end session'],
    route: methods(['POST', 'PUT'], '/auth/token/revoke-self'),
    summary: 'Revoke the token',
    access: machineToken,
    status: 204,
    errors: { 403: 'The token is missing or not valid.' },
    async act(_input, context) {
      const { token } = await requireLiveToken(context)
      const { db, metrics, now } = context.services
      const results = await context.commit([...tokenEnd(db, token, now()), tokenRevocation(token)])
      countTokens(metrics, 'revoked', results.at(-1)?.changes)
    },
  }),
])
