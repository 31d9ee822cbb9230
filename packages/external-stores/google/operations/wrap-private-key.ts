import { post } from '@warder/server'
import Type from 'typebox'
import { define } from '../../scope/services.ts'
import { maxPrivateKeyBytes, privateKeyBytes, readPrivateKey } from '../keys/private-key.ts'
import { wrapSecret } from '../keys/wrapping-key.ts'
import { byAdministrator, callerNamed } from '../scope/callers.ts'
import type { GoogleScope } from '../scope/scope.ts'
import { administrators, common, denied, limits, members, path, requireShort } from './common.ts'

/** `POST /google_cse/wrapprivatekey`: for the S/MIME certificate that an administrator gives to Gmail. */
export const wrapPrivateKey = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.wrapprivatekey',
    route: post(path('wrapprivatekey')),
    summary: "Wrap a user's private key as an administrator",
    authenticate: byAdministrator(scope),
    access: administrators,
    request: Type.Object({
      authentication: members.authentication,
      perimeter_id: Type.Optional(Type.String()),
      private_key: Type.String({ description: 'RSA: PEM, or DER (PKCS#8, PKCS#1) in base64.' }),
      reason: members.reason,
    }),
    reply: Type.Object({ wrapped_private_key: Type.String() }),
    errors: denied,
    async act({ body }, context) {
      const perimeterId = requireShort(body.perimeter_id ?? '', 'perimeter_id', limits.perimeterId)
      const text = requireShort(body.private_key, 'private_key', 2 * maxPrivateKeyBytes)
      const secret = privateKeyBytes(readPrivateKey(text))
      const { name } = callerNamed(context.request)
      const binding = { kind: 'private key', resourceName: '', perimeterId } as const
      try {
        return { wrapped_private_key: await wrapSecret(context, scope.wrappingKey, name, binding, secret) }
      } finally {
        secret.fill(0)
      }
    },
  })
