import { createHmac } from 'node:crypto'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../../scope/services.ts'
import { byAuthorization, requireAuthorization } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { common, denied, members, path, roles } from './common.ts'
import { openDataKey } from './open-data-key.ts'

/** `POST /google_cse/digest`: by which Google compares a key before and after it was moved. */
export const digest = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.digest',
    route: post(path('digest')),
    summary: 'The resource key hash of a wrapped data key',
    authenticate: byAuthorization(scope),
    access: roles('verifier'),
    request: Type.Object({
      authorization: members.authorization,
      reason: members.reason,
      wrapped_key: members.wrappedKey,
    }),
    reply: Type.Object({ resource_key_hash: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const { name, authorization } = requireAuthorization(context.request)
      const { resourceName } = authorization
      return openDataKey(scope, context, name, resourceName, body.wrapped_key, (dataKey, perimeterId) => ({
        resource_key_hash: resourceKeyHash(dataKey, resourceName, perimeterId),
      }))
    },
  })

/**
 * By which Google compares data keys without having them: HMAC-SHA256 with the key over
 * `ResourceKeyDigest:<resource>:<perimeter>`, in base64 (Google's reference, "Resource key hash").
 */
export function resourceKeyHash(dataKey: Uint8Array, resourceName: string, perimeterId: string): string {
  return createHmac('sha256', dataKey)
    .update(`ResourceKeyDigest:${resourceName}:${perimeterId}`, 'utf8')
    .digest('base64')
}
