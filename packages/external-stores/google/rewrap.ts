import { failure, parseStrictObject } from '@warder/base'
import { OutboundError } from '@warder/outbound'
import { type OperationContext, post } from '@warder/server'
import Type from 'typebox'
import { decodeBase64, define, type ExternalStoreServices } from '../scope/scope.ts'
import { byAuthorization, requireAuthorization } from './callers.ts'
import { migrationAudience } from './claims.ts'
import { common, denied, limits, members, path, roles, signClaims } from './operation-parts.ts'
import type { GoogleScope } from './scope.ts'
import { resourceKeyHash } from './wrap-operations.ts'
import { wrapSecret } from './wrapping-key.ts'

/** `POST /google_cse/rewrap`: moves a data key from another key service to this one. */
export const rewrap = (scope: GoogleScope) =>
  define({
    ...common,
    name: 'google_cse.rewrap',
    reach: ['make ciphertext'],
    asks: ['encrypt'],
    route: post(path('rewrap')),
    summary: 'Migrate a data key from another key service',
    authenticate: byAuthorization(scope),
    access: roles('migrator'),
    request: Type.Object({
      authorization: members.authorization,
      original_kacls_url: Type.String({
        description: 'The other key service, which must be in the settings.',
      }),
      reason: members.reason,
      wrapped_key: Type.String({ description: 'The key as the other key service wrapped it.' }),
    }),
    reply: Type.Object({ resource_key_hash: Type.String(), wrapped_key: Type.String() }),
    errors: { ...denied, 503: 'The other key service did not respond.' },
    async act({ body }, context) {
      const { name, authorization } = requireAuthorization(context.request)
      const { resourceName, perimeterId } = authorization
      const original = body.original_kacls_url
      context.audit({ details: { original_kacls_url: original.slice(0, 2048) } })
      const peer = scope.peers.find((url) => original === url || original === `${url}/`)
      if (peer === undefined)
        throw failure(
          'forbidden',
          'original_kacls_url: the settings do not permit migration from this key service.',
        )
      decodeBase64(body.wrapped_key, 'wrapped_key', limits.wrappedKey)
      const dataKey = await unwrapWithPeer(scope, context, peer, {
        original,
        resourceName,
        wrappedKey: body.wrapped_key,
        reason: body.reason,
      })
      try {
        const binding = { kind: 'data key', resourceName, perimeterId } as const
        const wrapped_key = await wrapSecret(context, scope.wrappingKey, name, binding, dataKey)
        return { resource_key_hash: resourceKeyHash(dataKey, resourceName, perimeterId), wrapped_key }
      } finally {
        dataKey.fill(0)
      }
    },
  })

interface Moved {
  /** The URL as sent by Google. */
  readonly original: string
  readonly resourceName: string
  readonly wrappedKey: string
  readonly reason: string | undefined
}

const tokenSeconds = 300

/**
 * Requests the unwrapped key from the other key service by the outbound client: https, permitted addresses only, no
 * redirects (`packages/outbound`).
 */
async function unwrapWithPeer(
  { kaclsUrl, signingKey, environment }: GoogleScope,
  context: OperationContext<ExternalStoreServices>,
  peer: string,
  { original, resourceName, wrappedKey, reason }: Moved,
): Promise<Buffer> {
  const now = Math.floor(context.services.clock.now() / 1000)
  const authentication = await signClaims(context, signingKey, {
    iss: kaclsUrl,
    aud: migrationAudience,
    kacls_url: original,
    resource_name: resourceName,
    iat: now,
    exp: now + tokenSeconds,
  })
  const request = {
    authentication,
    reason: reason ?? '',
    resource_name: resourceName,
    wrapped_key: wrappedKey,
  }
  const sent = Buffer.from(JSON.stringify(request))
  const answer = await environment.outbound
    .post(`${peer}/privilegedunwrap`, sent, {
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    })
    .catch((error: unknown) => {
      throw notAsked(error)
    })
  if (answer.status !== 200)
    throw failure('forbidden', 'The original key service did not return the key.', {
      detail: `${peer} responded with status ${answer.status}`,
    })
  const key = parseStrictObject(answer.body)?.key
  answer.body.fill(0)
  if (typeof key !== 'string')
    throw failure('overloaded', undefined, { cause: new Error(`the response of ${peer} contains no key`) })
  return decodeBase64(key, 'the key of the original key service', limits.dataKey)
}

function notAsked(error: unknown): Error {
  if (!(error instanceof OutboundError)) return error as Error
  const refused = error.code === 'url' || error.code === 'address' || error.code === 'redirect'
  if (refused)
    return failure('forbidden', 'original_kacls_url: requests to this key service are not permitted.', {
      detail: error.message,
      cause: error,
    })
  return failure('overloaded', undefined, { cause: error, retryAfterSeconds: 5 })
}
