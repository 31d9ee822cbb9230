/**
 * Keys that are byte strings of a fixed length: Edwards and Montgomery curves (RFC 8410), ML-KEM (RFC 9935), ML-DSA
 * (RFC 9881) and SLH-DSA (RFC 9909).
 */
export interface ByteKeyFamily {
  readonly algorithm: ByteKeyAlgorithm
  readonly identifier: string
  /** The nominal size of a curve key; for a post-quantum key, that of the public key. */
  readonly bits: number
  readonly publicBytes: number
  /** Length of the seed, if a private key may be a seed: [0] in PKCS#8. */
  readonly seedBytes: number | undefined
  /** Length of the private key itself. */
  readonly privateBytes: number
  /** true: the private key is in an OCTET STRING within that of PKCS#8. */
  readonly boxed: boolean
}

const nist = '2.16.840.1.101.3.4'

/** RFC 8410 §3, §7: the private key is an OCTET STRING within the OCTET STRING. */
function curve<const Name extends string>(name: Name, identifier: string, bytes: number, bits: number) {
  return {
    algorithm: name,
    identifier,
    bits,
    publicBytes: bytes,
    seedBytes: undefined,
    privateBytes: bytes,
    boxed: true,
  }
}

function postQuantum<const Name extends string>(
  name: Name,
  arc: string,
  publicBytes: number,
  privateBytes: number,
  seedBytes?: number,
) {
  return {
    algorithm: name,
    identifier: `${nist}.${arc}`,
    bits: publicBytes * 8,
    publicBytes,
    seedBytes,
    privateBytes,
    boxed: seedBytes !== undefined,
  }
}

const rows = [
  curve('X25519', '1.3.101.110', 32, 256),
  curve('X448', '1.3.101.111', 56, 448),
  curve('Ed25519', '1.3.101.112', 32, 256),
  curve('Ed448', '1.3.101.113', 57, 456),
  // FIPS 203 §8, table 3.
  postQuantum('ML-KEM-512', '4.1', 800, 1632, 64),
  postQuantum('ML-KEM-768', '4.2', 1184, 2400, 64),
  postQuantum('ML-KEM-1024', '4.3', 1568, 3168, 64),
  // FIPS 204 §4, table 2.
  postQuantum('ML-DSA-44', '3.17', 1312, 2560, 32),
  postQuantum('ML-DSA-65', '3.18', 1952, 4032, 32),
  postQuantum('ML-DSA-87', '3.19', 2592, 4896, 32),
  // FIPS 205 §11, table 2.
  postQuantum('SLH-DSA-SHA2-128s', '3.20', 32, 64),
  postQuantum('SLH-DSA-SHA2-128f', '3.21', 32, 64),
  postQuantum('SLH-DSA-SHA2-192s', '3.22', 48, 96),
  postQuantum('SLH-DSA-SHA2-192f', '3.23', 48, 96),
  postQuantum('SLH-DSA-SHA2-256s', '3.24', 64, 128),
  postQuantum('SLH-DSA-SHA2-256f', '3.25', 64, 128),
  postQuantum('SLH-DSA-SHAKE-128s', '3.26', 32, 64),
  postQuantum('SLH-DSA-SHAKE-128f', '3.27', 32, 64),
  postQuantum('SLH-DSA-SHAKE-192s', '3.28', 48, 96),
  postQuantum('SLH-DSA-SHAKE-192f', '3.29', 48, 96),
  postQuantum('SLH-DSA-SHAKE-256s', '3.30', 64, 128),
  postQuantum('SLH-DSA-SHAKE-256f', '3.31', 64, 128),
]

export type ByteKeyAlgorithm = (typeof rows)[number]['algorithm']

export const byteKeyFamilies: readonly ByteKeyFamily[] = rows
const byIdentifier = new Map(byteKeyFamilies.map((family) => [family.identifier, family]))

export function byteKeysByIdentifier(dotted: string): ByteKeyFamily | undefined {
  return byIdentifier.get(dotted)
}
