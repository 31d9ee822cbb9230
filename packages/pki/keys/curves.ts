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

const rows: readonly Row[] = [
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

const curves: readonly Curve[] = rows.map(([name, identifier, bits, scalarBytes]) => ({
  name,
  identifier,
  bits,
  fieldBytes: Math.ceil(bits / 8),
  scalarBytes: scalarBytes ?? Math.ceil(bits / 8),
  fips: fipsCurves.has(name),
}))
const byName = new Map(curves.map((curve) => [curve.name, curve]))
const byIdentifier = new Map(curves.map((curve) => [curve.identifier, curve]))

export function curveByName(name: string): Curve | undefined {
  return byName.get(name)
}

export function curveByIdentifier(dotted: string): Curve | undefined {
  return byIdentifier.get(dotted)
}
