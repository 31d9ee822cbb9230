import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../../scope/services.ts'
import { byBothTokens, requireAuthorization } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { common, denied, members, path, requirePerimeter, roles } from './common.ts'
import { openDataKey } from './open-data-key.ts'

/** `POST /google_cse/unwrap`. */
export const unwrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.unwrap',
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
