import { post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64 } from '../../scope/base64.ts'
import { define } from '../../scope/services.ts'
import { wrapSecret } from '../keys/wrapping-key.ts'
import { byBothTokens, requireAuthorization } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { common, denied, limits, members, path, roles } from './common.ts'

/** `POST /google_cse/wrap`. */
export const wrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.wrap',
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
