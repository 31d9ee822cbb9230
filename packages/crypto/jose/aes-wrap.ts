import { createSecretKey, randomBytes } from 'node:crypto'
import { CryptoFailure } from '../algorithms/failure.ts'
import { noParameters } from '../algorithms/parameters.ts'
import type { BackendKey } from '../backend/key-backend.ts'
import { softwareKey } from '../backend/software.ts'
import { type CipherPlan, planCipher } from '../cipher/cipher-plan.ts'

const anything = { fips: false }

/** Whether it is permitted was asked of the algorithm. */
function wrapPlan(bits: number): CipherPlan {
  return planCipher('AES', bits / 8, { blockCipherMode: 'NISTKeyWrap' }, anything)
}

function gcmPlan(bits: number): CipherPlan {
  return { ...planCipher('AES', bits / 8, noParameters, anything), iv: [12, 12] }
}

/** AES Key Wrap (RFC 3394, RFC 7518 §4.4). */
export async function wrapKey(kek: BackendKey, bits: number, cek: Uint8Array): Promise<Buffer> {
  const { data } = await kek.encrypt(wrapPlan(bits), { data: cek, iv: undefined, aad: undefined })
  return data
}

/** A content key of `bytes` bytes: the wrapped one, or a random one if unwrapping fails (RFC 7516 §11.5). */
export function unwrapKey(
  kek: BackendKey,
  bits: number,
  wrapped: Uint8Array,
  bytes: number,
): Promise<Buffer> {
  const input = { data: wrapped, iv: undefined, aad: undefined, tag: undefined }
  // RFC 3394 §2.2.1: one block of 64 bits more. A longer one is not worked on, for as long as it may be.
  if (wrapped.length !== bytes + 8) return Promise.resolve(randomBytes(bytes))
  return orAnother(bytes, async () => kek.decrypt(wrapPlan(bits), input))
}

/** AES-GCM key encryption (RFC 7518 §4.7): a random IV of 96 bits, which the caller counts, and a tag of 128. */
export async function gcmWrapKey(
  kek: BackendKey,
  bits: number,
  cek: Uint8Array,
): Promise<{ readonly wrapped: Buffer; readonly iv: Buffer; readonly tag: Buffer }> {
  const { data, iv, tag } = await kek.encrypt(gcmPlan(bits), { data: cek, iv: undefined, aad: undefined })
  return { wrapped: data, iv: iv as Buffer, tag: tag as Buffer }
}

export function gcmUnwrapKey(
  kek: BackendKey,
  bits: number,
  sealed: { readonly wrapped: Uint8Array; readonly iv: Uint8Array; readonly tag: Uint8Array },
  bytes: number,
): Promise<Buffer> {
  const { wrapped: data, iv, tag } = sealed
  if (data.length !== bytes) return Promise.resolve(randomBytes(bytes))
  return orAnother(bytes, async () => kek.decrypt(gcmPlan(bits), { data, iv, aad: undefined, tag }))
}

/** A key of this process. The bytes are wiped. */
export function keyOfBytes(bytes: Buffer): BackendKey {
  try {
    return softwareKey(createSecretKey(bytes))
  } finally {
    bytes.fill(0)
  }
}

/**
 * Substitutes a random key if unwrapping fails: decryption then fails at the tag of the content, as for a wrong tag.
 */
async function orAnother(bytes: number, open: () => Promise<Buffer>): Promise<Buffer> {
  const another = randomBytes(bytes)
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof CryptoFailure)) throw error
  }
  return another
}
