/** Families of key that a JOSE `kty` names. */
export type KeyType = 'oct' | 'RSA' | 'EC' | 'OKP' | 'AKP'

interface KeyTypeRow {
  readonly kty: KeyType
  /** node's name; undefined = a secret. */
  readonly node: string | undefined
  /** Of keys that have one size. */
  readonly bits?: number
  /** Bytes of a PKCS#8 before the seed, if the seed alone is the private key: hex. */
  readonly seedPrefix?: string
  readonly seedBytes?: number
}

/** The keys of the JOSE algorithms, by the name under which they are stored. */
export const keyTypes = {
  AES: { kty: 'oct', node: undefined },
  HMAC: { kty: 'oct', node: undefined },
  RSA: { kty: 'RSA', node: 'rsa' },
  EC: { kty: 'EC', node: 'ec' },
  // RFC 8410 §7.
  Ed25519: {
    kty: 'OKP',
    node: 'ed25519',
    bits: 256,
    seedPrefix: '302e020100300506032b657004220420',
    seedBytes: 32,
  },
  X25519: {
    kty: 'OKP',
    node: 'x25519',
    bits: 256,
    seedPrefix: '302e020100300506032b656e04220420',
    seedBytes: 32,
  },
  // RFC 9881 §6, the seed form: [0] IMPLICIT OCTET STRING. The bits are those of the public key (FIPS 204, table 2).
  'ML-DSA-44': {
    kty: 'AKP',
    node: 'ml-dsa-44',
    bits: 10_496,
    seedPrefix: '3034020100300b060960864801650304031104228020',
    seedBytes: 32,
  },
  'ML-DSA-65': {
    kty: 'AKP',
    node: 'ml-dsa-65',
    bits: 15_616,
    seedPrefix: '3034020100300b060960864801650304031204228020',
    seedBytes: 32,
  },
  'ML-DSA-87': {
    kty: 'AKP',
    node: 'ml-dsa-87',
    bits: 20_736,
    seedPrefix: '3034020100300b060960864801650304031304228020',
    seedBytes: 32,
  },
  // RFC 9935 §6, the seed form.
  'ML-KEM-512': {
    kty: 'AKP',
    node: 'ml-kem-512',
    bits: 6400,
    seedPrefix: '3054020100300b060960864801650304040104428040',
    seedBytes: 64,
  },
  'ML-KEM-768': {
    kty: 'AKP',
    node: 'ml-kem-768',
    bits: 9472,
    seedPrefix: '3054020100300b060960864801650304040204428040',
    seedBytes: 64,
  },
  'ML-KEM-1024': {
    kty: 'AKP',
    node: 'ml-kem-1024',
    bits: 12_544,
    seedPrefix: '3054020100300b060960864801650304040304428040',
    seedBytes: 64,
  },
} as const satisfies Readonly<Record<string, KeyTypeRow>>

export type MaterialAlgorithm = keyof typeof keyTypes

/** Key types without parameters: the algorithm determines them completely. */
export type FixedKeyType = {
  [Name in MaterialAlgorithm]: (typeof keyTypes)[Name] extends { readonly bits: number } ? Name : never
}[MaterialAlgorithm]

/** Name in RFC 7518 §6.2.1.1 of the curves, OpenSSL's name, bits of the field. */
export const curves: Readonly<
  Record<string, { readonly name: string; readonly bytes: number; readonly bits: number }>
> = Object.freeze({
  __proto__: null as never,
  'P-256': { name: 'prime256v1', bytes: 32, bits: 256 },
  'P-384': { name: 'secp384r1', bytes: 48, bits: 384 },
  'P-521': { name: 'secp521r1', bytes: 66, bits: 521 },
  // RFC 8812 §3.1: only for ES256K, if the settings allow it.
  secp256k1: { name: 'secp256k1', bytes: 32, bits: 256 },
})

const curveNames: ReadonlyMap<string, string> = new Map(
  Object.entries(curves).map(([name, curve]) => [curve.name, name]),
)

/** Name in JOSE of a curve of OpenSSL, the `namedCurve` of node:crypto; undefined: JOSE has none. */
export function findCurveName(namedCurve: string | undefined): string | undefined {
  return namedCurve === undefined ? undefined : curveNames.get(namedCurve)
}

/** Curves of ECDH-ES (RFC 7518 §4.6, RFC 8037 §3.2) and the bytes of a shared secret on them. */
export const ecdhCurves: Readonly<Record<string, number>> = Object.freeze({
  __proto__: null as never,
  'P-256': 32,
  'P-384': 48,
  'P-521': 66,
  X25519: 32,
})

/** Bits of a public key of SLH-DSA (FIPS 205, table 2) by the name of its parameters (RFC 9909). JOSE has no such keys. */
export const slhDsaBits: ReadonlyMap<string, number> = new Map(
  ['SHA2', 'SHAKE'].flatMap((hash) =>
    [128, 192, 256].flatMap((security) =>
      ['s', 'f'].map((size) => [`SLH-DSA-${hash}-${security}${size}`, security * 2] as const),
    ),
  ),
)
