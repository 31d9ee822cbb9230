import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { failure } from '@warder/base'
import { curves, keyTypes, type MaterialAlgorithm } from '../algorithms/key-types.ts'

export type MaterialKind = 'secret' | 'private' | 'public'

/** Description of a stored key, without its bytes. */
interface KeyDescription {
  readonly algorithm: string
  readonly bits: number
  readonly curve: string | undefined
  /** JOSE algorithm that it is bound to. */
  readonly boundAlg: string | undefined
}

/**
 * Whether the JOSE algorithms may use this key. KMIP also stores others: of other algorithms, and shorter ones than RFC
 * 7518 (§3.2, §3.3, §4.3) allows.
 */
export function isJoseKey<Key extends KeyDescription>(
  key: Key,
): key is Key & { readonly algorithm: MaterialAlgorithm } {
  const { algorithm, bits, curve, boundAlg } = key
  if (!Object.hasOwn(keyTypes, algorithm) || (curve !== undefined && curves[curve] === undefined))
    return false
  switch (algorithm) {
    case 'RSA':
      return bits >= 2048
    case 'HMAC':
      return bits >= (boundAlg === 'HS512' ? 512 : boundAlg === 'HS384' ? 384 : 256)
    case 'AES':
      return bits <= 256
    default:
      return true
  }
}

/** Facts needed in addition to the bytes to load a key again; contains nothing secret. */
export interface MaterialDescriptor {
  readonly kind: MaterialKind
  readonly algorithm: MaterialAlgorithm
  /** Length of a secret, of the RSA modulus, or of the curve's field, in bits. */
  readonly bits: number
  /** JOSE name of an EC curve: `P-256`, `P-384` or `P-521`. */
  readonly curve?: string
}

/** A loaded key with the properties that the algorithm tables need. */
export interface KeyMaterial extends MaterialDescriptor {
  readonly key: KeyObject
}

/** One secret, or the two halves of a pair. */
export type GeneratedKey =
  | { readonly secret: KeyMaterial }
  | { readonly private: KeyMaterial; readonly public: KeyMaterial }

/** Storage form: raw bytes of a secret, PKCS#8 DER (RFC 5958) of a private key, SPKI DER (RFC 5280) of a public one. */
export function serializeMaterial(material: KeyMaterial): Uint8Array {
  switch (material.kind) {
    case 'secret':
      return material.key.export()
    case 'private':
      return material.key.export({ format: 'der', type: 'pkcs8' })
    case 'public':
      return material.key.export({ format: 'der', type: 'spki' })
  }
}

/** Type, size and curve: a row that was changed must not turn a key into one of another strength. */
export function fits({ kind, algorithm, bits, curve }: MaterialDescriptor, key: KeyShape): boolean {
  if (!Object.hasOwn(keyTypes, algorithm)) return false
  const type = keyTypes[algorithm].node
  if (kind === 'secret') return type === undefined && (key.symmetricKeySize ?? 0) * 8 === bits
  if (type === undefined || key.asymmetricKeyType !== type) return false
  const details = key.asymmetricKeyDetails
  if (algorithm === 'RSA') return details?.modulusLength === bits
  if (algorithm !== 'EC') return true
  const known = curve === undefined ? undefined : curves[curve]
  return known !== undefined && details?.namedCurve === known.name && bits === known.bits
}

/**
 * Loads canonical bytes of a key of any algorithm: raw of a secret, PKCS#8 of a private key, SPKI of a public one.
 * @throws Failure internal_error when they are none
 */
export function loadKey(kind: MaterialKind, bytes: Uint8Array): KeyObject {
  // A view, not a copy: one more copy of a key is one more to wipe.
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    if (kind === 'secret') return createSecretKey(view)
    if (kind === 'private') return createPrivateKey({ key: view, format: 'der', type: 'pkcs8' })
    return createPublicKey({ key: view, format: 'der', type: 'spki' })
  } catch {
    // The cause is dropped on purpose: a parser's message may quote its input.
    throw failure('internal_error', 'stored key cannot be parsed')
  }
}

const publicHalves = new WeakMap<KeyObject, KeyObject>()

/** The public half of a private key, derived once. */
export function getPublicHalf(key: KeyObject): KeyObject {
  const known = publicHalves.get(key)
  if (known !== undefined) return known
  const made = createPublicKey(key)
  publicHalves.set(key, made)
  return made
}

/** Facts that planning needs about a key, wherever the key itself is; node's KeyObject has these members. */
export type KeyShape = Pick<
  KeyObject,
  'type' | 'asymmetricKeyType' | 'asymmetricKeyDetails' | 'symmetricKeySize'
>

/** Bits of an RSA modulus. */
export function modulusBits(key: KeyShape): number {
  return key.asymmetricKeyDetails?.modulusLength ?? 0
}
