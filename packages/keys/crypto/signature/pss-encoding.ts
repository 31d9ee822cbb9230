import { randomBytes, timingSafeEqual } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import { digest, type HashAlgorithm } from '../algorithms/hashes.ts'
import { maskWith } from '../rsa/mgf1.ts'

export interface PssScheme {
  readonly hash: HashAlgorithm
  readonly maskHash: HashAlgorithm
  /** Bytes. undefined: as long as the hash to encode, any to verify. */
  readonly saltLength: number | undefined
}

const eightZeros = Buffer.alloc(8)

/**
 * EMSA-PSS encoding of a digest (RFC 8017 §9.1.1) for cases that OpenSSL through Node does not support: a mask of
 * another hash, or a digest that the caller computed.
 * @param bits length of the modulus
 * @returns as long as the modulus
 * @throws bad_parameters when hash and salt are too long for the key
 */
export function pssEncode(scheme: PssScheme, digested: Uint8Array, bits: number): Buffer {
  const { hash, maskHash } = scheme
  const salt = randomBytes(scheme.saltLength ?? hash.bytes)
  const emBits = bits - 1
  const emBytes = Math.ceil(emBits / 8)
  if (emBytes < hash.bytes + salt.length + 2)
    throw refuse('bad_parameters', 'Hash and salt are too long for this key.')
  const encoded = Buffer.alloc(Math.ceil(bits / 8))
  const em = encoded.subarray(encoded.length - emBytes)
  const block = em.subarray(0, emBytes - hash.bytes - 1)
  const h = digest(hash, Buffer.concat([eightZeros, digested, salt]))
  block[block.length - salt.length - 1] = 1
  block.set(salt, block.length - salt.length)
  maskWith(maskHash, h, block)
  em[0] = (em[0] as number) & topMask(emBits)
  em.set(h, block.length)
  em[emBytes - 1] = 0xbc
  return encoded
}

/** EMSA-PSS verification of a digest (RFC 8017 §9.1.2). @param encoded as long as the modulus */
export function pssVerify(
  scheme: PssScheme,
  digested: Uint8Array,
  encoded: Uint8Array,
  bits: number,
): boolean {
  const { hash, maskHash, saltLength } = scheme
  const emBits = bits - 1
  const emBytes = Math.ceil(emBits / 8)
  const leading = encoded.subarray(0, encoded.length - emBytes)
  const em = Buffer.from(encoded.subarray(encoded.length - emBytes))
  if (leading.some((byte) => byte !== 0) || emBytes < hash.bytes + 2 || em[emBytes - 1] !== 0xbc) return false
  const block = em.subarray(0, emBytes - hash.bytes - 1)
  const h = em.subarray(block.length, block.length + hash.bytes)
  if (((em[0] as number) & ~topMask(emBits)) !== 0) return false
  maskWith(maskHash, h, block)
  em[0] = (em[0] as number) & topMask(emBits)
  const separator = block.findIndex((byte) => byte !== 0)
  if (separator === -1 || block[separator] !== 1) return false
  const salt = block.subarray(separator + 1)
  if (saltLength !== undefined && salt.length !== saltLength) return false
  return timingSafeEqual(digest(hash, Buffer.concat([eightZeros, digested, salt])), h)
}

/** The bits of the first byte that belong to the encoded message. */
function topMask(emBits: number): number {
  return 0xff >> (-emBits & 7)
}
