import { failure } from '@warder/base'
import { post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64 } from '../../scope/base64.ts'
import { define } from '../../scope/services.ts'
import { wrapSecret } from '../keys/wrapping-key.ts'
import { byAdministrator, byAdministratorOrPeer, callerNamed } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import {
  administrators,
  administratorsAndPeers,
  common,
  denied,
  limits,
  members,
  path,
  requireShort,
} from './common.ts'
import { openDataKey } from './open-data-key.ts'

const resourceName = Type.String({
  minLength: 1,
  description: 'Name of the encrypted resource; at most 128 bytes.',
})

/** `POST /google_cse/privilegedwrap`: for data that an administrator imports in bulk. */
export const privilegedWrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privilegedwrap',
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

/** `POST /google_cse/privilegedunwrap`: of exported data (takeout), and for a key service that a key is moved to. */
export const privilegedUnwrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.privilegedunwrap',
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
