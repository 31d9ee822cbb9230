import { ECDH } from 'node:crypto'
import {
  contextTag,
  type DerElement,
  der,
  derBitString,
  derBits,
  derContent,
  derIdentifier,
  derMembers,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { type Curve, curveByIdentifier, type KeyPolicy, type ParsedKey } from './key-algorithms.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki } from './pkcs8.ts'

export const ecIdentifier = '1.2.840.10045.2.1'

/** Encoding of a point (X9.62 §4.3.6). */
export type PointForm = 'uncompressed' | 'compressed' | 'hybrid'

const what = 'The EC private key'

/** Reads the named curve of these parameters. @throws PkiError */
export function curveOfParameters(parameters: Uint8Array | undefined, policy: KeyPolicy): Curve {
  if (parameters === undefined || parameters[0] !== derTag.objectIdentifier)
    throw pkiError('unsupported_key', 'Only named elliptic curves are supported.')
  const [identifier] = readSequence(parameters)
  return requireUsable(curveByIdentifier(derIdentifier(identifier, what)), policy)
}

/** @throws PkiError when the curve is not supported, or the policy excludes it */
export function requireUsable(curve: Curve | undefined, policy: KeyPolicy): Curve {
  if (curve === undefined || (policy.fips && !curve.fips))
    throw pkiError('unsupported_key', 'The elliptic curve is not supported.')
  return curve
}

function readSequence(element: Uint8Array): readonly DerElement[] {
  return derMembers(derSequence(element), what)
}

/**
 * Reads an ECPrivateKey (RFC 5915), which is stored unchanged inside a PKCS#8.
 * @param outer the curve in the surrounding structure, if present: both must be the same
 * @throws PkiError when the scalar is out of range or the public point differs
 */
export function ecPrivateFromSec1(sec1: Uint8Array, outer: Curve | undefined, policy: KeyPolicy): ParsedKey {
  const [version, scalar, ...others] = derMembers(sec1, what)
  if (derSmallNumber(version, what) !== 1) throw pkiError('invalid_key', `${what} is of an unknown version.`)
  const parameters = others.find(({ tag }) => tag === contextTag(0))?.content
  const inner = parameters === undefined ? undefined : curveOfParameters(parameters, policy)
  const curve = inner ?? outer
  if (curve === undefined) throw pkiError('invalid_key', 'The curve of the key is missing.')
  if (outer !== undefined && outer !== curve)
    throw pkiError('invalid_key', 'The key names two different curves.')
  const d = derContent(scalar, derTag.octetString, what)
  const point = publicPoint(curve, d)
  const given = others.find(({ tag }) => tag === contextTag(1))
  if (given !== undefined) {
    const [bits] = readSequence(given.content)
    if (!pointIn(curve, derBits(bits, what), 'uncompressed').equals(point))
      throw pkiError('invalid_key', 'The public point does not match the private key.')
  }
  return {
    canonical: buildPkcs8({
      identifier: ecIdentifier,
      parameters: derObjectIdentifier(curve.identifier),
      key: sec1,
    }),
    ...describeKey(curve),
  }
}

/** Builds a key from the scalar, of any length up to that of the order. */
export function ecPrivateFromScalar(scalar: Uint8Array, curve: Curve, policy: KeyPolicy): ParsedKey {
  if (scalar.length > curve.scalarBytes)
    throw pkiError('invalid_key', 'The private scalar is too large for its curve.')
  const d = Buffer.alloc(curve.scalarBytes)
  d.set(scalar, curve.scalarBytes - scalar.length)
  const sec1 = derSequence(
    derNumber(1),
    derOctets(d),
    der(contextTag(1), derBitString(publicPoint(curve, d))),
  )
  d.fill(0)
  return ecPrivateFromSec1(sec1, curve, policy)
}

/** Reads a point in any encoding, which is kept. @throws PkiError when it is not on the curve */
export function ecPublicFromPoint(point: Uint8Array, curve: Curve): ParsedKey {
  pointIn(curve, point, 'uncompressed')
  const canonical = buildSpki({
    identifier: ecIdentifier,
    parameters: derObjectIdentifier(curve.identifier),
    key: point,
  })
  return { canonical, ...describeKey(curve) }
}

function describeKey(curve: Curve) {
  return { algorithm: 'EC', bits: curve.bits, curve } as const
}

/** Computes d·G, uncompressed. @throws PkiError when d is 0 or not below the order */
function publicPoint(curve: Curve, d: Uint8Array): Buffer {
  // Types of the runtime do not list the constructor's use without `createECDH`.
  const ecdh = new (ECDH as unknown as new (curve: string) => ECDH)(curve.name)
  try {
    ecdh.setPrivateKey(d)
    return ecdh.getPublicKey(undefined, 'uncompressed') as unknown as Buffer
  } catch {
    throw pkiError('invalid_key', 'The private scalar is out of range for its curve.')
  }
}

/** Converts a point to another encoding. @throws PkiError when it is not on the curve */
function pointIn(curve: Curve, point: Uint8Array, form: PointForm): Buffer {
  const first = point[0] ?? 0
  const bytes = first === 2 || first === 3 ? curve.fieldBytes + 1 : curve.fieldBytes * 2 + 1
  // The point at infinity, a single 0, is on every curve but is not a valid public key.
  if (first < 2 || first > 7 || point.length !== bytes) throw notOnCurve()
  try {
    return ECDH.convertKey(point, curve.name, undefined, undefined, form) as unknown as Buffer
  } catch {
    throw notOnCurve()
  }
}

function notOnCurve() {
  return pkiError('invalid_key', 'The public point is not on its curve.')
}

function detectPointForm(point: Uint8Array): PointForm {
  const first = point[0] ?? 0
  return first === 4 ? 'uncompressed' : first >= 6 ? 'hybrid' : 'compressed'
}

/** Returns the ECPrivateKey of a stored key, with curve and public point unless `asStored`. */
export function ecToSec1(canonical: Uint8Array, curve: Curve, asStored: boolean): Uint8Array {
  const { key } = parsePkcs8(canonical)
  if (asStored) return key
  const [, scalar] = derMembers(key, what)
  const d = derContent(scalar, derTag.octetString, what)
  return derSequence(
    derNumber(1),
    derOctets(d),
    der(contextTag(0), derObjectIdentifier(curve.identifier)),
    der(contextTag(1), derBitString(publicPoint(curve, d))),
  )
}

/** Returns the scalar of a stored private key, with its stored length. */
export function ecScalar(canonical: Uint8Array): Uint8Array {
  const [, scalar] = derMembers(parsePkcs8(canonical).key, what)
  return derContent(scalar, derTag.octetString, what)
}

/** Returns the point of a stored public key, in the requested or the stored encoding. */
export function ecPoint(canonical: Uint8Array, curve: Curve, form: PointForm | undefined): Uint8Array {
  const { key } = parseSpki(canonical)
  return form === undefined || form === detectPointForm(key) ? key : pointIn(curve, key, form)
}
