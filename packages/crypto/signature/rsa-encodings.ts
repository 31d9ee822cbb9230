import { randomBytes, timingSafeEqual } from 'node:crypto'
import { refuse } from '../algorithms/failure.ts'
import { digest, type HashAlgorithm, type HashName } from '../algorithms/hashes.ts'
import { maskWith } from '../rsa/mgf1.ts'

/** Last part of the object identifiers; those of SHA-2 and SHA-3 begin with 2.16.840.1.101.3.4.2. */
const nistArc = '608648016503040200'
const identifiers: Readonly<Record<HashName, string>> = {
  MD5: '2a864886f70d0205',
  RIPEMD_160: '2b24030201',
  SHA_1: '2b0e03021a',
  SHA_256: nist(1),
  SHA_384: nist(2),
  SHA_512: nist(3),
  SHA_224: nist(4),
  SHA_512_224: nist(5),
  SHA_512_256: nist(6),
  SHA3_224: nist(7),
  SHA3_256: nist(8),
  SHA3_384: nist(9),
  SHA3_512: nist(10),
}

function nist(last: number): string {
  return `${nistArc.slice(0, -2)}${last.toString(16).padStart(2, '0')}`
}

/** DigestInfo of a digest (RFC 8017 §9.2, step 2). */
export function digestInfo(hash: HashAlgorithm, digested: Uint8Array): Buffer {
  const identifier = Buffer.from(identifiers[hash.name], 'hex')
  // SEQUENCE { SEQUENCE { OID, NULL }, OCTET STRING }; all lengths are below 128.
  const algorithm = Buffer.concat([
    Buffer.from([0x06, identifier.length]),
    identifier,
    Buffer.from([0x05, 0x00]),
  ])
  const content = Buffer.concat([
    Buffer.from([0x30, algorithm.length]),
    algorithm,
    Buffer.from([0x04, digested.length]),
    digested,
  ])
  return Buffer.concat([Buffer.from([0x30, content.length]), content])
}

/**
 * EMSA-PKCS1-v1_5 encoding of a digest that was made elsewhere (RFC 8017 §9.2).
 * @param bytes length of the modulus
 * @throws bad_parameters when the key is too short
 */
export function pkcs1Encode(hash: HashAlgorithm, digested: Uint8Array, bytes: number): Buffer {
  const info = digestInfo(hash, digested)
  if (bytes < info.length + 11) throw refuse('bad_parameters', 'The hash is too long for this key.')
  const encoded = Buffer.alloc(bytes, 0xff)
  encoded[0] = 0
  encoded[1] = 1
  encoded[bytes - info.length - 1] = 0
  encoded.set(info, bytes - info.length)
  return encoded
}

interface PssScheme {
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
