import { algorithmFor, createSignature, getChainId } from '@warder/keys'
import type { OperationContext } from '@warder/server'
import { ownAlgorithm as alg, ownSigningKey, toPublishedKid } from '../../scope/own-keys.ts'
import type { ExternalStoreServices } from '../../scope/services.ts'

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
