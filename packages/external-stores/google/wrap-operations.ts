import { createHmac } from 'node:crypto'
import { failure } from '@warder/base'
import { type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64, define, type ExternalStoreServices } from '../scope/scope.ts'
import {
  byAdministrator,
  byAdministratorOrPeer,
  byAuthorization,
  byBothTokens,
  callerNamed,
  requireAuthorization,
} from './callers.ts'
import {
  administrators,
  administratorsAndPeers,
  common,
  denied,
  limits,
  members,
  path,
  requirePerimeter,
  requireShort,
  roles,
} from './operation-parts.ts'
import type { GoogleScope } from './scope.ts'
import { unwrapSecret, wrapSecret } from './wrapping-key.ts'

/** Unwraps a data key, and wipes it after `use`. */
async function openDataKey<R>(
  scope: GoogleScope,
  context: OperationContext<ExternalStoreServices>,
  principal: string,
  resourceName: string,
  wrappedKey: string,
  use: (dataKey: Buffer, perimeterId: string) => R,
): Promise<R> {
  const bytes = decodeBase64(wrappedKey, 'wrapped_key', limits.wrappedKey)
  const { secret, perimeterId } = await unwrapSecret(
    context,
    scope.wrappingKey,
    principal,
    'data key',
    resourceName,
    bytes,
    'wrapped_key',
  )
  try {
    return use(secret, perimeterId)
  } finally {
    secret.fill(0)
  }
}

/** `POST /google_cse/wrap`. */
export const wrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.wrap',
    reach: ['make ciphertext'],
    asks: ['encrypt'],
    route: post(path('wrap')),
    summary: 'Wrap a data key for a resource',
    authenticate: byBothTokens(scope),
    access: roles('writer', 'upgrader'),
    request: Type.Object({
      authentication: members.authentication,
      authorization: members.authorization,
      key: members.key,
      reason: members.reason,
    }),
    reply: Type.Object({ wrapped_key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const { name, authorization } = requireAuthorization(context.request)
      const { resourceName, perimeterId } = authorization
      const dataKey = decodeBase64(body.key, 'key', limits.dataKey)
      const binding = { kind: 'data key', resourceName, perimeterId } as const
      const wrapped_key = await wrapSecret(context, scope.wrappingKey, name, binding, dataKey)
      dataKey.fill(0)
      return { wrapped_key }
    },
  })

/** `POST /google_cse/unwrap`. */
export const unwrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.unwrap',
    reach: ['reveal plaintext'],
    asks: ['decrypt'],
    route: post(path('unwrap')),
    summary: 'Unwrap a data key for a resource',
    authenticate: byBothTokens(scope),
    access: roles('reader', 'writer'),
    request: Type.Object({
      authentication: members.authentication,
      authorization: members.authorization,
      reason: members.reason,
      wrapped_key: members.wrappedKey,
    }),
    reply: Type.Object({ key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const { name, authorization } = requireAuthorization(context.request)
      const { resourceName, perimeterId } = authorization
      return openDataKey(scope, context, name, resourceName, body.wrapped_key, (dataKey, wrappedIn) => {
        requirePerimeter(wrappedIn, perimeterId)
        return { key: dataKey.toString('base64') }
      })
    },
  })

/** `POST /google_cse/digest`: a hash with which Google compares a key before and after its migration. */
export const digest = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.digest',
    reach: ['reveal validity'],
    asks: ['decrypt'],
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
 * Hash with which Google compares data keys without access to them: HMAC-SHA256 with the key over
 * `ResourceKeyDigest:<resource>:<perimeter>`, in base64 (Google's reference, "Resource key hash").
 */
export function resourceKeyHash(dataKey: Uint8Array, resourceName: string, perimeterId: string): string {
  return createHmac('sha256', dataKey)
    .update(`ResourceKeyDigest:${resourceName}:${perimeterId}`, 'utf8')
    .digest('base64')
}

const resourceName = Type.String({
  minLength: 1,
  description: 'Name of the encrypted resource; at most 128 bytes.',
})

/** `POST /google_cse/privilegedwrap`: for data that an administrator imports in bulk. */
export const privilegedWrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privilegedwrap',
    reach: ['make ciphertext'],
    asks: ['encrypt'],
    route: post(path('privilegedwrap')),
    summary: 'Wrap a data key as an administrator',
    authenticate: byAdministrator(scope),
    access: administrators,
    request: Type.Object({
      authentication: members.authentication,
      key: members.key,
      perimeter_id: Type.Optional(Type.String()),
      reason: members.reason,
      resource_name: resourceName,
    }),
    reply: Type.Object({ wrapped_key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const resource = requireShort(body.resource_name, 'resource_name', limits.resourceName)
      const perimeter = requireShort(body.perimeter_id ?? '', 'perimeter_id', limits.perimeterId)
      context.audit({ details: { resource_name: resource, ...(perimeter && { perimeter_id: perimeter }) } })
      const dataKey = decodeBase64(body.key, 'key', limits.dataKey)
      const binding = { kind: 'data key', resourceName: resource, perimeterId: perimeter } as const
      const { name } = callerNamed(context.request)
      const wrapped_key = await wrapSecret(context, scope.wrappingKey, name, binding, dataKey)
      dataKey.fill(0)
      return { wrapped_key }
    },
  })

/**
 * `POST /google_cse/privilegedunwrap`: of exported data (takeout), and for the key service to which a key is migrated.
 */
export const privilegedUnwrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privilegedunwrap',
    reach: ['reveal plaintext'],
    asks: ['decrypt'],
    route: post(path('privilegedunwrap')),
    summary: 'Unwrap a data key of exported data, or for the key service to which it is migrated',
    authenticate: byAdministratorOrPeer(scope),
    access: administratorsAndPeers,
    request: Type.Object({
      authentication: members.authentication,
      reason: members.reason,
      resource_name: resourceName,
      wrapped_key: members.wrappedKey,
    }),
    reply: Type.Object({ key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const resource = requireShort(body.resource_name, 'resource_name', limits.resourceName)
      context.audit({ details: { resource_name: resource } })
      const { name, peer } = callerNamed(context.request)
      if (peer !== undefined && peer.resourceName !== resource)
        throw failure('forbidden', 'The authentication token is for another resource.')
      return openDataKey(scope, context, name, resource, body.wrapped_key, (dataKey) => ({
        key: dataKey.toString('base64'),
      }))
    },
  })
