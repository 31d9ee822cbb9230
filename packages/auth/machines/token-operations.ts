import { failure } from '@warder/foundation/errors'
import {
  type Access,
  defineOperation,
  get,
  methods,
  type OperationContext,
} from '@warder/foundation/operations'
import { GuardFailed } from '@warder/foundation/sql'
import Type from 'typebox'
import { countTokens } from '../counting/index.ts'
import { MachineAuthReply, machineAuth, withAliases } from './auth-reply.ts'
import { vaultErrors } from './error-shape.ts'
import { tokenEnd } from './machine-end-store.ts'
import type { MachineServices } from './services.ts'
import { type MachineToken, tokenRenewal, tokenRevocation } from './token-store.ts'
import { findToken, presentedToken } from './tokens.ts'

const define = defineOperation<MachineServices>()
type Context = OperationContext<MachineServices>

const common = { tag: 'Machines: tokens', errorShape: vaultErrors, anyContentType: true } as const

/** The live token of a request, as the access check found it. */
class HeldToken {
  readonly secret: string
  readonly token: MachineToken

  constructor(secret: string, token: MachineToken) {
    this.secret = secret
    this.token = token
  }
}

/** @throws failure('forbidden') where no access check has found a token */
function heldToken({ found }: Context): HeldToken {
  if (found instanceof HeldToken) return found
  throw refused()
}

const refused = (): Error => failure('forbidden', 'The token is missing or not valid: permission denied.')

/**
 * The token itself is the credential. `public` for the dispatcher, which would answer 401 where the interface says
 * 403: one sentence for a token that is missing, unknown, expired or revoked.
 */
const machineToken: Access<MachineServices> = {
  name: 'machine token',
  public: true,
  credentials: ['secretToken', 'vaultToken', 'bearer'],
  async check(_input, context) {
    const secret = presentedToken(context.request)
    const token = secret === undefined ? undefined : await findToken(context.services, secret)
    if (secret === undefined || token === undefined) throw refused()
    const { entity, realm, roleName } = token
    context.audit({ principal: entity, auth_method: 'machine_token', realm, details: { role: roleName } })
    context.found = new HeldToken(secret, token)
  },
}

export const tokenOperations = withAliases([
  define({
    ...common,
    name: 'token.lookup_self',
    route: get('/auth/token/lookup-self'),
    summary: 'What is known about the token',
    access: machineToken,
    reply: Type.Object({
      data: Type.Object({
        id: Type.String(),
        entity_id: Type.String(),
        policies: Type.Array(Type.String()),
        renewable: Type.Boolean(),
        ttl: Type.Integer(),
        creation_time: Type.Integer(),
      }),
    }),
    errors: { 403: 'The token is missing or not valid.' },
    // As with whoami: asked at each request of others, it would drown what the audit log is for.
    audited: false,
    act(_input, context) {
      const { secret, token } = heldToken(context)
      const ttl = token.expiresAt === 0 ? token.leaseDuration : token.expiresAt - context.services.now()
      return {
        data: {
          id: secret,
          entity_id: token.entity,
          policies: token.policies,
          renewable: token.renewable,
          ttl,
          creation_time: token.createdAt,
        },
      }
    },
  }),
  define({
    ...common,
    name: 'token.renew_self',
    route: methods(['POST', 'PUT'], '/auth/token/renew-self'),
    summary: 'Begin the lease of the token again',
    access: machineToken,
    reply: MachineAuthReply,
    errors: { 403: 'The token is missing, not valid or not renewable.' },
    async act(_input, context) {
      const { secret, token } = heldToken(context)
      if (!token.renewable) throw failure('forbidden', 'The token is not renewable.')
      try {
        await context.commit([tokenRenewal(token, context.services.now())])
      } catch (error) {
        if (error instanceof GuardFailed) throw refused()
        throw error
      }
      countTokens(context.services.metrics, 'renewed')
      return machineAuth(secret, token.renewable, token.leaseDuration, token.policies, {})
    },
  }),
  define({
    ...common,
    name: 'token.revoke_self',
    route: methods(['POST', 'PUT'], '/auth/token/revoke-self'),
    summary: 'Revoke the token',
    access: machineToken,
    status: 204,
    errors: { 403: 'The token is missing or not valid.' },
    async act(_input, context) {
      const { token } = heldToken(context)
      const { db, metrics, now } = context.services
      const results = await context.commit([...tokenEnd(db, token, now()), tokenRevocation(token)])
      countTokens(metrics, 'revoked', results.at(-1)?.changes)
    },
  }),
])
