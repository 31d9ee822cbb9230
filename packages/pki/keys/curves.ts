import type { ValueName } from '@warder/kmip/tables'

export type CurveName = ValueName<'RecommendedCurve'>

/** An elliptic curve of short Weierstrass form that KMIP names (KMIP 2.1 §11.45) and OpenSSL has. */
export interface Curve {
  readonly name: CurveName
  readonly identifier: string
  /** What OpenSSL calls it. */
  readonly openssl: string
  /** Of the field, in bits: its CryptographicLength. */
  readonly bits: number
  /** Length of a coordinate. */
  readonly fieldBytes: number
  /** Length of a private scalar (RFC 5915 §3): that of the order, not of the field. */
  readonly scalarBytes: number
  /** SP 800-186 §3.2: may be used under FIPS. */
  readonly fips: boolean
}

type Row = readonly [name: CurveName, identifier: string, openssl: string, bits: number, scalarBytes?: number]

const rows: readonly Row[] = [
  ['P_192', '1.2.840.10045.3.1.1', 'prime192v1', 192],
  ['P_224', '1.3.132.0.33', 'secp224r1', 224],
  ['P_256', '1.2.840.10045.3.1.7', 'prime256v1', 256],
  ['P_384', '1.3.132.0.34', 'secp384r1', 384],
  ['P_521', '1.3.132.0.35', 'secp521r1', 521],
  ['K_163', '1.3.132.0.1', 'sect163k1', 163],
  ['B_163', '1.3.132.0.15', 'sect163r2', 163],
  ['K_233', '1.3.132.0.26', 'sect233k1', 233, 29],
  ['B_233', '1.3.132.0.27', 'sect233r1', 233],
  ['K_283', '1.3.132.0.16', 'sect283k1', 283],
  ['B_283', '1.3.132.0.17', 'sect283r1', 283],
  ['K_409', '1.3.132.0.36', 'sect409k1', 409, 51],
  ['B_409', '1.3.132.0.37', 'sect409r1', 409],
  ['K_571', '1.3.132.0.38', 'sect571k1', 571],
  ['B_571', '1.3.132.0.39', 'sect571r1', 571],
  ['SECP160K1', '1.3.132.0.9', 'secp160k1', 160, 21],
  ['SECP160R1', '1.3.132.0.8', 'secp160r1', 160, 21],
  ['SECP160R2', '1.3.132.0.30', 'secp160r2', 160, 21],
  ['SECP192K1', '1.3.132.0.31', 'secp192k1', 192],
  ['SECP224K1', '1.3.132.0.32', 'secp224k1', 224, 29],
  ['SECP256K1', '1.3.132.0.10', 'secp256k1', 256],
  ['SECT193R1', '1.3.132.0.24', 'sect193r1', 193],
  ['SECT193R2', '1.3.132.0.25', 'sect193r2', 193],
  ['SECT239K1', '1.3.132.0.3', 'sect239k1', 239],
  ['ANSIX9P192V2', '1.2.840.10045.3.1.2', 'prime192v2', 192],
  ['ANSIX9P192V3', '1.2.840.10045.3.1.3', 'prime192v3', 192],
  ['ANSIX9P239V1', '1.2.840.10045.3.1.4', 'prime239v1', 239],
  ['ANSIX9P239V2', '1.2.840.10045.3.1.5', 'prime239v2', 239],
  ['ANSIX9P239V3', '1.2.840.10045.3.1.6', 'prime239v3', 239],
  ['BRAINPOOLP160R1', '1.3.36.3.3.2.8.1.1.1', 'brainpoolP160r1', 160],
  ['BRAINPOOLP160T1', '1.3.36.3.3.2.8.1.1.2', 'brainpoolP160t1', 160],
  ['BRAINPOOLP192R1', '1.3.36.3.3.2.8.1.1.3', 'brainpoolP192r1', 192],
  ['BRAINPOOLP192T1', '1.3.36.3.3.2.8.1.1.4', 'brainpoolP192t1', 192],
  ['BRAINPOOLP224R1', '1.3.36.3.3.2.8.1.1.5', 'brainpoolP224r1', 224],
  ['BRAINPOOLP224T1', '1.3.36.3.3.2.8.1.1.6', 'brainpoolP224t1', 224],
  ['BRAINPOOLP256R1', '1.3.36.3.3.2.8.1.1.7', 'brainpoolP256r1', 256],
  ['BRAINPOOLP256T1', '1.3.36.3.3.2.8.1.1.8', 'brainpoolP256t1', 256],
  ['BRAINPOOLP320R1', '1.3.36.3.3.2.8.1.1.9', 'brainpoolP320r1', 320],
  ['BRAINPOOLP320T1', '1.3.36.3.3.2.8.1.1.10', 'brainpoolP320t1', 320],
  ['BRAINPOOLP384R1', '1.3.36.3.3.2.8.1.1.11', 'brainpoolP384r1', 384],
  ['BRAINPOOLP384T1', '1.3.36.3.3.2.8.1.1.12', 'brainpoolP384t1', 384],
  ['BRAINPOOLP512R1', '1.3.36.3.3.2.8.1.1.13', 'brainpoolP512r1', 512],
  ['BRAINPOOLP512T1', '1.3.36.3.3.2.8.1.1.14', 'brainpoolP512t1', 512],
]

const fipsCurves = new Set<CurveName>(['P_224', 'P_256', 'P_384', 'P_521'])

const curves: readonly Curve[] = rows.map(([name, identifier, openssl, bits, scalarBytes]) => ({
  name,
  identifier,
  openssl,
  bits,
  fieldBytes: Math.ceil(bits / 8),
  scalarBytes: scalarBytes ?? Math.ceil(bits / 8),
  fips: fipsCurves.has(name),
}))
const byName = new Map(curves.map((curve) => [curve.name, curve]))
const byIdentifier = new Map(curves.map((curve) => [curve.identifier, curve]))

export function curveByName(name: CurveName): Curve | undefined {
  return byName.get(name)
}

export function curveByIdentifier(dotted: string): Curve | undefined {
  return byIdentifier.get(dotted)
}

/** Keys that are plain bytes, with the lengths of those of the curves that RFC 7748 and RFC 8032 define. */
export interface OkpCurve {
  readonly name: CurveName
  readonly identifier: string
  readonly bytes: number
  readonly bits: number
}

/** RFC 8410 §3. */
export const okpCurves: readonly OkpCurve[] = [
  { name: 'CURVE25519', identifier: '1.3.101.110', bytes: 32, bits: 256 },
  { name: 'CURVE448', identifier: '1.3.101.111', bytes: 56, bits: 448 },
  { name: 'CURVEED25519', identifier: '1.3.101.112', bytes: 32, bits: 256 },
  { name: 'CURVEED448', identifier: '1.3.101.113', bytes: 57, bits: 456 },
]
