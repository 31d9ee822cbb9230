import { failure } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { get } from '@warder/server'
import Type from 'typebox'
import { define } from '../scope/services.ts'
import { currentKey, requireRsa } from './key.ts'
import { dkePath, type MicrosoftScope } from './scope.ts'

const dayMs = 86_400_000

/**
 * `GET /ms_dke/{key_name}`: the public key that protects documents, without authentication, as in Microsoft's sample.
 * The modulus is in standard base64 and the exponent a number (Protocols/PublicKey.Response.json); `kid` is the URL
 * under which clients call `decrypt`.
 */
export const publicKey = (scope: MicrosoftScope) =>
  define({
    name: 'ms_dke.key',
    route: get(`${dkePath}/{key_name}`),
    summary: 'The public key of the current version of a key',
    tag: 'Microsoft DKE',
    access: publicAccess,
    pathParameters: Type.Object({ key_name: Type.String({ description: 'Name of the key in the label.' }) }),
    reply: Type.Object({
      key: Type.Object({
        kty: Type.String(),
        n: Type.String({ description: 'Standard base64.' }),
        e: Type.Integer(),
        alg: Type.String(),
        kid: Type.String(),
      }),
      cache: Type.Optional(Type.Object({ exp: Type.String({ description: 'UTC, without a zone.' }) })),
    }),
    errors: { 400: 'No such key, or it cannot be used.' },
    async act({ path }, context) {
      const name = path.key_name
      const key = requireRsa(await currentKey(context, scope, name))
      const { services, audit } = context
      const now = services.clock.now()
      audit({ object: key.object.id, details: { key_name: name } })
      const verdict = key.mayUse('decrypt', now)
      if (!verdict.allowed) throw failure('crypto_failure', verdict.sentence)
      // A deactivated or compromised key must not protect new documents.
      if (key.state !== 'Active') throw failure('crypto_failure', `The key is ${key.state}.`)
      const { n, e } = key.publicMaterial.key.export({ format: 'jwk' })
      const { cacheDays } = scope
      const exp = new Date(now + cacheDays * dayMs).toISOString().slice(0, 19)
      return {
        key: {
          kty: 'RSA',
          n: Buffer.from(n ?? '', 'base64url').toString('base64'),
          e: Number.parseInt(Buffer.from(e ?? '', 'base64url').toString('hex'), 16),
          alg: 'RS256',
          kid: `${scope.serviceUrl}/${name}/${encodeURIComponent(key.object.id)}`,
        },
        ...(cacheDays > 0 && { cache: { exp } }),
      }
    },
  })
