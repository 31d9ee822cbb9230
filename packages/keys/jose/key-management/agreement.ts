import { createPublicKey, type KeyObject } from 'node:crypto'
import { failure } from '@warder/base'
import type { DescribedKey } from '../../backend/described-key.ts'
import type { BackendKey } from '../../backend/key-backend.ts'
import { softwareKey } from '../../backend/software.ts'
import { CryptoFailure } from '../../crypto/algorithms/failure.ts'
import { ecdhCurves } from '../../crypto/algorithms/key-types.ts'
import { noParameters } from '../../crypto/algorithms/parameters.ts'
import type { AlgorithmPolicy } from '../../crypto/algorithms/policy.ts'
import { generateEc } from '../../crypto/material/generate.ts'
import { generateKey } from '../../crypto/material/generate-key.ts'
import type { KeyMaterial, MaterialDescriptor } from '../../crypto/material/material.ts'
import type { EphemeralJwk } from './parameters.ts'

/** JOSE's name of the curve that a key agrees on. @throws failure('crypto_failure') */
function requireCurve({ algorithm, curve }: MaterialDescriptor): string {
  const name = algorithm === 'X25519' ? 'X25519' : (curve ?? '')
  if (Object.hasOwn(ecdhCurves, name)) return name
  throw failure('crypto_failure', 'The key is not on a curve that this alg takes.')
}

/** A new key on the curve of another one, as the header shows it, and the secret that both share. */
export async function agreeAnew(
  recipient: KeyMaterial,
  policy: AlgorithmPolicy,
): Promise<{ readonly secret: Buffer; readonly epk: EphemeralJwk }> {
  const curve = requireCurve(recipient)
  const made = await (curve === 'X25519'
    ? generateKey({ algorithm: 'X25519', alg: undefined })
    : generateEc(curve))
  if (!('private' in made)) throw failure('internal_error', 'an ephemeral key is a pair')
  const { kty, crv, x, y } = made.public.key.export({ format: 'jwk' }) as unknown as EphemeralJwk
  const secret = await deriveSharedSecret(softwareKey(made.private.key), curve, recipient.key, policy)
  return { secret, epk: y === undefined ? { kty, crv, x } : { kty, crv, x, y } }
}

/**
 * The secret that a private key shares with the ephemeral key of a header. The caller wipes it.
 * @throws failure('bad_request') for a point that is not on the key's curve (RFC 7518 §4.6.1.1);
 *   failure('decryption_failed') for a point without a shared secret (RFC 7748 §6.1)
 */
export async function agreeWith(
  key: DescribedKey,
  epk: EphemeralJwk,
  policy: AlgorithmPolicy,
): Promise<Buffer> {
  const curve = requireCurve(key)
  const other = ephemeralKey(epk, curve)
  try {
    return await deriveSharedSecret(key.held, curve, other, policy)
  } catch (error) {
    // Refusals by the policy and failures of the backend are reported; all errors of the point have the same message.
    if (!(error instanceof CryptoFailure) || error.kind === 'unsupported_algorithm') throw error
    throw failure('decryption_failed')
  }
}

async function deriveSharedSecret(
  own: BackendKey,
  curve: string,
  other: KeyObject,
  policy: AlgorithmPolicy,
): Promise<Buffer> {
  const nothing = { algorithm: undefined, initializationVector: undefined, derivationData: undefined }
  const rest = { salt: undefined, iterationCount: undefined, parameters: noParameters }
  const length = ecdhCurves[curve] ?? 0
  return own.agree(other, { method: 'AsymmetricKey', ...nothing, ...rest, length }, policy)
}

/** OpenSSL checks that the point is on the curve. */
function ephemeralKey({ kty, crv, x, y }: EphemeralJwk, curve: string): KeyObject {
  const bytes = ecdhCurves[curve]
  const members = curve === 'X25519' ? { kty, crv, x } : { kty, crv, x, y: y ?? '' }
  const lengths = [x, ...(curve === 'X25519' ? [] : [y ?? ''])].map(
    (text) => Buffer.from(text, 'base64url').length,
  )
  const isOfCurve = crv === curve && kty === (curve === 'X25519' ? 'OKP' : 'EC')
  if (!isOfCurve || lengths.some((length) => length !== bytes)) throw wrongPoint(curve)
  try {
    return createPublicKey({ key: members, format: 'jwk' })
  } catch {
    throw wrongPoint(curve)
  }
}

function wrongPoint(curve: string) {
  return failure('bad_request', `The header member 'epk' is not a public key on ${curve}, as the key is.`)
}
