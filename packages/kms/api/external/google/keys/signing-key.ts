import { failure } from '@warder/foundation/errors'
import type { KeySet, VerificationKey } from '@warder/foundation/jwt'
import type { OperationContext } from '@warder/foundation/operations'
import { algorithmFor } from '../../../../crypto/index.ts'
import { grantedKey } from '../../../../external/index.ts'
import { createSignature } from '../../../../jose/index.ts'
import type { Key } from '../../../../keys/index.ts'
import type { KmsServices } from '../../../../services.ts'

const alg = 'RS256'

/** The RSA key by which other key services, and this one, know tokens of this service; see `/certs`. */
async function signingKey(services: KmsServices, kid: string): Promise<Key> {
  const key = await grantedKey(services, 'google', '*', kid, 'sign')
  const verdict = key.mayUse('sign', services.clock.now())
  if (!verdict.allowed) throw failure('crypto_failure', verdict.sentence)
  const { object } = key
  if (object.type !== 'PrivateKey' || object.algorithm !== 'RSA')
    throw failure('crypto_failure', 'The signing key is not an RSA private key.')
  return key
}

/** The name that `/v1/crypto/sign` gives the key, too. */
function publishedKid({ object }: Key): string {
  return object.linkedId ?? object.id
}

/** Signs claims as a compact JWT. */
export async function signClaims(
  { services, audit }: OperationContext<KmsServices>,
  kid: string,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const key = await signingKey(services, kid)
  audit({ object: kid, algorithm: alg })
  const header = { alg, typ: 'JWT', kid: publishedKid(key) }
  const input = `${encoded(header)}.${encoded(claims)}`
  const algorithm = algorithmFor('signature', alg, services.policy)
  const signature = await createSignature(algorithm, key.described, Buffer.from(input))
  return `${input}.${signature.toString('base64url')}`
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** The public half as a JWK, as other key services fetch it. */
export async function publishedKey(
  services: KmsServices,
  kid: string,
): Promise<Readonly<Record<string, unknown>>> {
  const key = await signingKey(services, kid)
  const { kty, n, e } = key.publicMaterial.key.export({ format: 'jwk' })
  return { kty, n, e, use: 'sig', alg, kid: publishedKid(key) }
}

/** The key set of tokens that this service signed. Nothing is accepted while the key may not sign. */
export function ownKeySet(services: KmsServices, kid: string): KeySet {
  return {
    async find(wanted): Promise<readonly VerificationKey[]> {
      const key = await signingKey(services, kid).catch(() => undefined)
      if (key === undefined) return []
      const published = { kid: publishedKid(key), key: key.publicMaterial.key, algorithms: [alg] }
      return wanted === undefined || wanted === published.kid ? [published] : []
    },
  }
}
