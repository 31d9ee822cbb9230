/** A named elliptic curve of short Weierstrass or binary form. */
export interface Curve {
  /** The name in OpenSSL, which is also `namedCurve` of node:crypto. */
  readonly name: string
  readonly identifier: string
  /** Bits of the field. */
  readonly bits: number
  /** Length of a coordinate. */
  readonly fieldBytes: number
  /** Length of a private scalar (RFC 5915 §3): that of the order, not of the field. */
  readonly scalarBytes: number
  /** SP 800-186 §3.2: may be used under FIPS. */
  readonly fips: boolean
}

type Row = readonly [name: string, identifier: string, bits: number, scalarBytes?: number]

const curveRows: readonly Row[] = [
  ['prime192v1', '1.2.840.10045.3.1.1', 192],
  ['secp224r1', '1.3.132.0.33', 224],
  ['prime256v1', '1.2.840.10045.3.1.7', 256],
  ['secp384r1', '1.3.132.0.34', 384],
  ['secp521r1', '1.3.132.0.35', 521],
  ['sect163k1', '1.3.132.0.1', 163],
  ['sect163r2', '1.3.132.0.15', 163],
  ['sect233k1', '1.3.132.0.26', 233, 29],
  ['sect233r1', '1.3.132.0.27', 233],
  ['sect283k1', '1.3.132.0.16', 283],
  ['sect283r1', '1.3.132.0.17', 283],
  ['sect409k1', '1.3.132.0.36', 409, 51],
  ['sect409r1', '1.3.132.0.37', 409],
  ['sect571k1', '1.3.132.0.38', 571],
  ['sect571r1', '1.3.132.0.39', 571],
  ['secp160k1', '1.3.132.0.9', 160, 21],
  ['secp160r1', '1.3.132.0.8', 160, 21],
  ['secp160r2', '1.3.132.0.30', 160, 21],
  ['secp192k1', '1.3.132.0.31', 192],
  ['secp224k1', '1.3.132.0.32', 224, 29],
  ['secp256k1', '1.3.132.0.10', 256],
  ['sect193r1', '1.3.132.0.24', 193],
  ['sect193r2', '1.3.132.0.25', 193],
  ['sect239k1', '1.3.132.0.3', 239],
  ['prime192v2', '1.2.840.10045.3.1.2', 192],
  ['prime192v3', '1.2.840.10045.3.1.3', 192],
  ['prime239v1', '1.2.840.10045.3.1.4', 239],
  ['prime239v2', '1.2.840.10045.3.1.5', 239],
  ['prime239v3', '1.2.840.10045.3.1.6', 239],
  ['brainpoolP160r1', '1.3.36.3.3.2.8.1.1.1', 160],
  ['brainpoolP160t1', '1.3.36.3.3.2.8.1.1.2', 160],
  ['brainpoolP192r1', '1.3.36.3.3.2.8.1.1.3', 192],
  ['brainpoolP192t1', '1.3.36.3.3.2.8.1.1.4', 192],
  ['brainpoolP224r1', '1.3.36.3.3.2.8.1.1.5', 224],
  ['brainpoolP224t1', '1.3.36.3.3.2.8.1.1.6', 224],
  ['brainpoolP256r1', '1.3.36.3.3.2.8.1.1.7', 256],
  ['brainpoolP256t1', '1.3.36.3.3.2.8.1.1.8', 256],
  ['brainpoolP320r1', '1.3.36.3.3.2.8.1.1.9', 320],
  ['brainpoolP320t1', '1.3.36.3.3.2.8.1.1.10', 320],
  ['brainpoolP384r1', '1.3.36.3.3.2.8.1.1.11', 384],
  ['brainpoolP384t1', '1.3.36.3.3.2.8.1.1.12', 384],
  ['brainpoolP512r1', '1.3.36.3.3.2.8.1.1.13', 512],
  ['brainpoolP512t1', '1.3.36.3.3.2.8.1.1.14', 512],
]

const fipsCurves = new Set(['secp224r1', 'prime256v1', 'secp384r1', 'secp521r1'])

const curves: readonly Curve[] = curveRows.map(([name, identifier, bits, scalarBytes]) => ({
  name,
  identifier,
  bits,
  fieldBytes: Math.ceil(bits / 8),
  scalarBytes: scalarBytes ?? Math.ceil(bits / 8),
  fips: fipsCurves.has(name),
}))
const byName = new Map(curves.map((curve) => [curve.name, curve]))
const curvesByIdentifier = new Map(curves.map((curve) => [curve.identifier, curve]))

export function curveByName(name: string): Curve | undefined {
  return byName.get(name)
}

export function curveByIdentifier(dotted: string): Curve | undefined {
  return curvesByIdentifier.get(dotted)
}

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

const familyRows = [
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

export type ByteKeyAlgorithm = (typeof familyRows)[number]['algorithm']

export const byteKeyFamilies: readonly ByteKeyFamily[] = familyRows
const familiesByIdentifier = new Map(byteKeyFamilies.map((family) => [family.identifier, family]))

export function byteKeysByIdentifier(dotted: string): ByteKeyFamily | undefined {
  return familiesByIdentifier.get(dotted)
}

type KeyAlgorithm = 'RSA' | 'EC' | 'DSA' | 'DH' | ByteKeyAlgorithm

/** A parsed asymmetric key, whatever its input format. */
export interface ParsedKey {
  /** PKCS#8 DER or SPKI DER. The caller must wipe it. */
  readonly canonical: Uint8Array
  readonly algorithm: KeyAlgorithm
  /** Bits of the modulus (RSA), the field (EC), the prime (DSA, DH) or the public key (others). */
  readonly bits: number
  /** Set for EC. */
  readonly curve?: Curve
  /** DSA and DH: bits of Q. */
  readonly qLength?: number
  /** A check that is too slow for the event loop. Rejects with a PkiError. */
  readonly check?: () => Promise<void>
}

/** Policy of accepted keys. */
export interface KeyPolicy {
  readonly fips: boolean
}
