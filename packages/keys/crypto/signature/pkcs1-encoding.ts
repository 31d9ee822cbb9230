import { refuse } from '../algorithms/failure.ts'
import type { HashAlgorithm, HashName } from '../algorithms/hashes.ts'

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

/**
 * EMSA-PKCS1-v1_5 encoding of a digest that was made elsewhere (RFC 8017 §9.2).
 * @param bytes length of the modulus
 * @throws bad_parameters when the key is too short
 */
export function pkcs1Encode(hash: HashAlgorithm, digested: Uint8Array, bytes: number): Buffer {
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
  const info = Buffer.concat([Buffer.from([0x30, content.length]), content])
  if (bytes < info.length + 11) throw refuse('bad_parameters', 'The hash is too long for this key.')
  const encoded = Buffer.alloc(bytes, 0xff)
  encoded[0] = 0
  encoded[1] = 1
  encoded[bytes - info.length - 1] = 0
  encoded.set(info, bytes - info.length)
  return encoded
}
