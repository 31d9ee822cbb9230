import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import type { DescribedKey } from '../../backend/described-key.ts'
import type { BackendKey } from '../../backend/key-backend.ts'
import {
  type ContentEncryption,
  isForMaterial,
  type OtherKeyManagement,
} from '../../crypto/algorithms/algorithms.ts'
import type { AlgorithmPolicy } from '../../crypto/algorithms/policy.ts'
import { concatKdf } from '../../crypto/derivation/concat-kdf.ts'
import { encapsulateFor } from '../../crypto/kem/kem.ts'
import type { KeyMaterial, MaterialDescriptor } from '../../crypto/material/material.ts'
import { encodeBase64Url } from '../text/base64url.ts'
import { gcmUnwrapKey, gcmWrapKey, keyOfBytes, unwrapKey, wrapKey } from './aes-wrap.ts'
import { agreeAnew, agreeWith } from './agreement.ts'
import { kemKey } from './kem-key.ts'
import { type ManagementParameters, requireParameter } from './parameters.ts'

/** Content encryption of a JWE, and how the content key travels. */
export interface Management {
  readonly alg: { readonly name: string; readonly algorithm: OtherKeyManagement }
  readonly enc: { readonly name: string; readonly encryption: ContentEncryption }
  readonly policy: AlgorithmPolicy
}

/** A key as both sides of a key management need it. */
export interface ManagementKey {
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
    throw failure('crypto_failure', 'The key is of another type or size than this key management needs.')
}

function requirePrivate({ kind }: MaterialDescriptor): void {
  if (kind !== 'private') throw failure('crypto_failure', 'The private key is not here.')
}
