import { failure } from '@warder/base'
import { algorithmFor, createSignature } from '@warder/crypto'
import { getChainId } from '@warder/keys'
import type { Access, OperationContext, OperationInput } from '@warder/server'
import Type from 'typebox'
import type { ExternalStoreServices } from '../scope/scope.ts'
import { ownAlgorithm as alg, ownSigningKey, toPublishedKid } from '../scope/token-keys.ts'
import { requireAuthorization } from './callers.ts'
import type { Role } from './claims.ts'
import { googlePath } from './scope.ts'

/** Two tokens of 16 KiB, a wrapped private key and the surrounding JSON. */
const bodyLimit = 64 * 1024

/** Members shared by the declarations of all operations; tag, error shape and CORS come from the scope. */
export const common = { tag: 'Google Workspace CSE', bodyLimit, security: ['googleTokens'] } as const

export const path = (operation: string): string => `${googlePath}/${operation}`

/** Bytes (Google's reference). */
export const limits = {
  dataKey: 128,
  reason: 1024,
  resourceName: 128,
  perimeterId: 128,
  wrappedKey: 1024,
  wrappedPrivateKey: 8192,
  encryptedDataKey: 1024,
  digest: 128,
} as const

export const members = {
  authentication: Type.String({ description: 'A JWT of the identity provider, which identifies the user.' }),
  authorization: Type.String({ description: 'A JWT of Google, which states the permissions of the user.' }),
  reason: Type.Optional(Type.String({ description: 'Recorded in the audit log; at most 1 KB.' })),
  key: Type.String({ description: 'The data key, base64; at most 128 bytes.' }),
  wrappedKey: Type.String({ description: 'The reply of `wrap`.' }),
  wrappedPrivateKey: Type.String({ description: 'The reply of `wrapprivatekey`.' }),
} as const

export const denied = {
  403: 'The tokens do not permit this, or the user has no right on the wrapping key.',
  404: 'The wrapping key does not exist, or is not granted to Google.',
  422: 'The key or the algorithm cannot be used for this.',
} as const

/** Roles of the authorization token that may call an operation. */
export function roles(...allowed: readonly Role[]): Access<ExternalStoreServices> {
  return {
    name: `Google CSE role: ${allowed.join(', ')}`,
    check(input, context) {
      recordReason(input, context)
      const { authorization } = requireAuthorization(context.request)
      if (!allowed.includes(authorization.role))
        throw failure('forbidden', `The role ${authorization.role} does not permit this.`)
    },
  }
}

/** The authenticator has already identified the caller. */
export const administrators: Access<ExternalStoreServices> = {
  name: 'Google CSE administrators',
  check: recordReason,
}

export const administratorsAndPeers: Access<ExternalStoreServices> = {
  name: 'Google CSE administrators, key services',
  check: recordReason,
}

type Check = NonNullable<Access<ExternalStoreServices>['check']>

function recordReason(input: OperationInput, context: Parameters<Check>[1]): void {
  const { reason } = input.body as { readonly reason?: string }
  if (reason === undefined) return
  requireShort(reason, 'reason', limits.reason)
  context.audit({ details: { reason } })
}

/** @throws failure('bad_request') for a text that is longer than `maxLength` bytes */
export function requireShort(text: string, member: string, maxLength: number): string {
  if (Buffer.byteLength(text) > maxLength)
    throw failure('bad_request', `${member}: is longer than ${maxLength} bytes.`)
  return text
}

/**
 * A secret that was wrapped in a perimeter can be unwrapped only in that perimeter. One that was wrapped without a
 * perimeter can be unwrapped in any: migrated keys have none (docs/adr/google-and-microsoft.md).
 * @throws failure('forbidden')
 */
export function requirePerimeter(wrapped: string, allowed: string): void {
  if (wrapped !== '' && wrapped !== allowed)
    throw failure('forbidden', 'The key was wrapped in another perimeter.')
}

/** Signs claims as a compact JWT. */
export async function signClaims(
  { services, audit, principal }: OperationContext<ExternalStoreServices>,
  kid: string,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const key = await ownSigningKey(services, 'google', kid)
  audit({ object: kid, algorithm: alg })
  services.uses.note(getChainId(key.object), principal?.name ?? 'google', services.clock.now())
  const header = { alg, typ: 'JWT', kid: toPublishedKid(key) }
  const input = `${encodeJson(header)}.${encodeJson(claims)}`
  const algorithm = algorithmFor('signature', alg, services.policy)
  const signature = await createSignature(algorithm, key.described, Buffer.from(input))
  return `${input}.${signature.toString('base64url')}`
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** The public half as a JWK, as other key services fetch it. */
export async function publishKey(
  services: ExternalStoreServices,
  kid: string,
): Promise<Readonly<Record<string, unknown>>> {
  const key = await ownSigningKey(services, 'google', kid)
  const { kty, n, e } = key.publicMaterial.key.export({ format: 'jwk' })
  return { kty, n, e, use: 'sig', alg, kid: toPublishedKid(key) }
}
