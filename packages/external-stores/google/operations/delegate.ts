import { failure } from '@warder/base'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../../scope/services.ts'
import { signClaims } from '../keys/signing-key.ts'
import { byBothTokens, requireAuthorization } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { delegationAudience } from '../tokens/issuers.ts'
import { common, denied, members, path, roles } from './common.ts'

/** Google recommends 15 minutes ("KACLS authentication token for delegate"). */
const maxSeconds = 900

/** `POST /google_cse/delegate`: lets another user act for a user on one resource. */
export const delegate = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.delegate',
    route: post(path('delegate')),
    summary: 'Delegate access to one resource to another user',
    authenticate: byBothTokens(scope),
    access: roles('reader', 'writer'),
    request: Type.Object({
      authentication: members.authentication,
      authorization: members.authorization,
      reason: members.reason,
    }),
    reply: Type.Object({ delegated_authentication: Type.String() }),
    errors: denied,
    async act(_input, context) {
      const { authentication: user, authorization } = requireAuthorization(context.request)
      const { delegatedTo, resourceName } = authorization
      if (user === undefined) throw failure('internal_error', 'no authentication token was asked for')
      if (user.delegation !== undefined)
        throw failure('forbidden', 'A delegated token cannot be delegated further.')
      if (delegatedTo === undefined)
        throw failure('bad_request', 'authorization: the token has no delegated_to.')
      const now = Math.floor(context.services.clock.now() / 1000)
      const delegated_authentication = await signClaims(context, scope.signingKey, {
        iss: scope.kaclsUrl,
        aud: delegationAudience,
        email: user.email,
        ...(user.guests && { guest: true }),
        ...(user.otherNames.some((name) => name !== user.email) && { also: user.otherNames }),
        delegated_to: delegatedTo,
        resource_name: resourceName,
        iat: now,
        exp: Math.min(now + maxSeconds, Math.floor(user.expiresAt)),
      })
      return { delegated_authentication }
    },
  })
