import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import { type ContentEncryption, isForMaterial, type OtherKeyManagement } from '../algorithms/algorithms.ts'
import { CryptoFailure } from '../algorithms/failure.ts'
import { ecdhCurves } from '../algorithms/key-types.ts'
import { noParameters } from '../algorithms/parameters.ts'
import type { AlgorithmPolicy } from '../algorithms/policy.ts'
import type { BackendKey } from '../backend/key-backend.ts'
import { type DescribedKey, softwareKey } from '../backend/software.ts'
import { concatKdf, counter, lengthAnd } from '../derivation/concat-kdf.ts'
import { encapsulateFor } from '../kem.ts'
import { kmac256 } from '../mac.ts'
import { generateEc, generateKey } from '../material/generate-key.ts'
import type { KeyMaterial, MaterialDescriptor } from '../material/material.ts'
import { gcmUnwrapKey, gcmWrapKey, keyOfBytes, unwrapKey, wrapKey } from './aes-wrap.ts'
import { encodeBase64Url } from './base64url.ts'
import {
  type EphemeralJwk,
  type ManagementParameters,
  requireParameter,
} from './key-management-parameters.ts'

/** Content encryption of a JWE, and how the content key travels. */
export interface Management {
  readonly alg: { readonly name: string; readonly algorithm: OtherKeyManagement }
  readonly enc: { readonly name: string; readonly encryption: ContentEncryption }
  readonly policy: AlgorithmPolicy
}

/** A key as both sides of a key management need it. */
interface ManagementKey {
  readonly described: DescribedKey
  readonly publicMaterial: KeyMaterial
}

/** A new content key and its members of the JWE. */
export interface SentKey {
  readonly contentKey: BackendKey
  /** The key's own bytes, for clients that encrypt elsewhere; the caller wipes them. */
  readonly bytes: Buffer
  readonly encryptedKey: Buffer
  /** Members of the protected header besides alg, enc and kid. */
  readonly members: Readonly<Record<string, unknown>>
}

const nothing = Buffer.alloc(0)

/**
 * A content key for the holder of `key`. @throws failure('crypto_failure') for a key of another type or size
 */
export async function sendContentKey(key: ManagementKey, management: Management): Promise<SentKey> {
  const { algorithm } = management.alg
  requireFit(algorithm, key.described)
  switch (algorithm.way) {
    case 'key wrap': {
      const bytes = newKey(management)
      return sent(bytes, await wrapKey(key.described.held, algorithm.bits, bytes), {})
    }
    case 'gcm key wrap': {
      const bytes = newKey(management)
      const { wrapped, iv, tag } = await gcmWrapKey(key.described.held, algorithm.bits, bytes)
      return sent(bytes, wrapped, { iv: encodeBase64Url(iv), tag: encodeBase64Url(tag) })
    }
    case 'agreement': {
      const { secret, epk } = await agreeAnew(key.publicMaterial, management.policy)
      return viaDerived(deriveAgreedKey(secret, management, nothing, nothing), management, { epk })
    }
    case 'encapsulation': {
      const { secret, encapsulation } = encapsulateFor(key.publicMaterial.key)
      return viaDerived(deriveKemKey(secret, management), management, {
        kemct: encodeBase64Url(encapsulation),
      })
    }
  }
}

/**
 * The content key of a JWE, or another one if it is wrong in any way, with which decryption of the content fails.
 * @throws failure('bad_request') for a header without its members; failure('crypto_failure') for a key of another type
 */
export async function receiveContentKey(
  key: DescribedKey,
  management: Management,
  parameters: ManagementParameters,
  encryptedKey: Uint8Array,
): Promise<BackendKey> {
  const { algorithm } = management.alg
  requireFit(algorithm, key)
  const size = management.enc.encryption.bits / 8
  switch (algorithm.way) {
    case 'key wrap':
      return keyOfBytes(await unwrapKey(key.held, algorithm.bits, encryptedKey, size))
    case 'gcm key wrap': {
      const iv = requireLength(requireParameter(parameters.iv, 'iv'), 'iv', 12)
      const tag = requireLength(requireParameter(parameters.tag, 'tag'), 'tag', 16)
      return keyOfBytes(
        await gcmUnwrapKey(key.held, algorithm.bits, { wrapped: encryptedKey, iv, tag }, size),
      )
    }
    case 'agreement': {
      requirePrivate(key)
      const epk = requireParameter(parameters.epk, 'epk')
      const secret = await agreeWith(key, epk, management.policy)
      const derived = deriveAgreedKey(secret, management, parameters.apu, parameters.apv)
      return fromDerived(derived, algorithm.wrapBits, encryptedKey, size)
    }
    case 'encapsulation': {
      requirePrivate(key)
      const secret = await key.held.decapsulate(requireParameter(parameters.kemct, 'kemct'))
      return fromDerived(deriveKemKey(secret, management), algorithm.wrapBits, encryptedKey, size)
    }
  }
}

/** Does the content key come without an `encrypted_key` (RFC 7516 §5.1, direct agreement)? */
export function isDirect(algorithm: OtherKeyManagement): boolean {
  return 'wrapBits' in algorithm && algorithm.wrapBits === undefined
}

function newKey({ enc }: Management): Buffer {
  return randomBytes(enc.encryption.bits / 8)
}

function sent(bytes: Buffer, encryptedKey: Buffer, members: SentKey['members']): SentKey {
  return { contentKey: keyOfBytes(Buffer.from(bytes)), bytes, encryptedKey, members }
}

/** The derived key is the content key, or wraps a new one. */
async function viaDerived(
  derived: Buffer,
  management: Management,
  members: SentKey['members'],
): Promise<SentKey> {
  const { algorithm } = management.alg
  if (!('wrapBits' in algorithm) || algorithm.wrapBits === undefined) return sent(derived, nothing, members)
  const bytes = newKey(management)
  return sent(bytes, await wrapKey(keyOfBytes(derived), algorithm.wrapBits, bytes), members)
}

async function fromDerived(
  derived: Buffer,
  wrapBits: number | undefined,
  encryptedKey: Uint8Array,
  size: number,
): Promise<BackendKey> {
  if (wrapBits === undefined) return keyOfBytes(derived)
  return keyOfBytes(await unwrapKey(keyOfBytes(derived), wrapBits, encryptedKey, size))
}

/** The name and the bits that a derivation is bound to (RFC 7518 §4.6.2). */
function boundTo({ alg, enc }: Management): { readonly algorithm: string; readonly bits: number } {
  const { algorithm } = alg
  const wrapBits = 'wrapBits' in algorithm ? algorithm.wrapBits : undefined
  return wrapBits === undefined
    ? { algorithm: enc.name, bits: enc.encryption.bits }
    : { algorithm: alg.name, bits: wrapBits }
}

function deriveAgreedKey(
  secret: Buffer,
  management: Management,
  partyU: Uint8Array,
  partyV: Uint8Array,
): Buffer {
  try {
    return concatKdf(secret, { ...boundTo(management), partyU, partyV })
  } finally {
    secret.fill(0)
  }
}

function deriveKemKey(secret: Buffer, management: Management): Buffer {
  const { algorithm, bits } = boundTo(management)
  try {
    return kemKey(secret, algorithm, bits)
  } finally {
    secret.fill(0)
  }
}

function requireLength(bytes: Uint8Array, name: string, length: number): Uint8Array {
  if (bytes.length !== length)
    throw failure('bad_request', `The header member '${name}' must be ${length} bytes.`)
  return bytes
}

function requireFit(algorithm: OtherKeyManagement, key: MaterialDescriptor): void {
  const fits =
    isForMaterial(algorithm, key.algorithm) && (!('bits' in algorithm) || key.bits === algorithm.bits)
  if (!fits)
    throw failure(
      'crypto_failure',
      'The type or size of the key does not match this key management algorithm.',
    )
}

function requirePrivate({ kind }: MaterialDescriptor): void {
  if (kind !== 'private') throw failure('crypto_failure', 'The service does not have the private key.')
}

/** JOSE's name of the curve that a key agrees on. @throws failure('crypto_failure') */
function requireCurve({ algorithm, curve }: MaterialDescriptor): string {
  const name = algorithm === 'X25519' ? 'X25519' : (curve ?? '')
  if (Object.hasOwn(ecdhCurves, name)) return name
  throw failure('crypto_failure', 'The curve of the key is not allowed for this alg.')
}

/** A new key on the curve of another one, as the header shows it, and the secret that both share. */
async function agreeAnew(
  recipient: KeyMaterial,
  policy: AlgorithmPolicy,
): Promise<{ readonly secret: Buffer; readonly epk: EphemeralJwk }> {
  const curve = requireCurve(recipient)
  const made = await (curve === 'X25519'
    ? generateKey({ algorithm: 'X25519', alg: undefined })
    : generateEc(curve))
  if (!('private' in made)) throw failure('internal_error', 'an ephemeral key must be a pair')
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
  return failure(
    'bad_request',
    `The header member 'epk' must be a public key on ${curve}, the curve of the key.`,
  )
}

/**
 * The key derived from an encapsulated secret (draft-ietf-jose-pqc-kem, "Key Derivation for JOSE"): KMAC256 of
 * AlgorithmID and SuppPubInfo (RFC 7518 §4.6.2) under the secret. The caller wipes it.
 * @param algorithm `enc` of direct agreement, else `alg`
 */
export function kemKey(secret: Uint8Array, algorithm: string, bits: number): Buffer {
  const context = Buffer.concat([lengthAnd(Buffer.from(algorithm, 'ascii')), counter(bits)])
  return kmac256(secret, context, bits / 8)
}
