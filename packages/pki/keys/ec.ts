import { ECDH } from 'node:crypto'
import { Enumeration, Tag, type ValueName } from '@warder/kmip/tables'
import {
  byteString,
  enumeration,
  optional,
  required,
  type StructureNode,
  structure,
  unsignedBytes,
  unsignedInteger,
} from '@warder/kmip/ttlv'
import { kmipFailure } from '../../kms/kmip/engine/failure.ts'
import type { KeyPolicy, ParsedKey } from '../../kms/kmip/keys/parsed-key.ts'
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
} from '../asn1/der.ts'
import { type Curve, curveByIdentifier, curveByName } from './curves.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki } from './pkcs8.ts'

export const ecIdentifier = '1.2.840.10045.2.1'

/** How a point is written (X9.62 §4.3.6). */
export type PointForm = 'uncompressed' | 'compressed' | 'hybrid'

const what = 'The EC private key'

/** The curve of these parameters: a named one. @throws InvalidField */
export function curveOfParameters(parameters: Uint8Array | undefined, policy: KeyPolicy): Curve {
  if (parameters === undefined || parameters[0] !== derTag.objectIdentifier)
    throw kmipFailure('InvalidField', 'Only named elliptic curves are supported.')
  const [identifier] = derMembersOf(parameters)
  return usable(curveByIdentifier(derIdentifier(identifier, what)), policy)
}

/** The curve that KMIP calls so. @throws InvalidField */
export function curveOf(name: ValueName<'RecommendedCurve'> | undefined, policy: KeyPolicy): Curve {
  if (name === undefined) throw kmipFailure('InvalidField', 'The curve of the key is missing.')
  return usable(curveByName(name), policy)
}

function usable(curve: Curve | undefined, policy: KeyPolicy): Curve {
  if (curve === undefined || (policy.fips && !curve.fips))
    throw kmipFailure('InvalidField', 'The elliptic curve is not supported here.')
  return curve
}

function derMembersOf(element: Uint8Array): readonly DerElement[] {
  return derMembers(derSequence(element), what)
}

/**
 * ECPrivateKey (RFC 5915), kept as it came inside a PKCS#8.
 * @param outer the curve that stands outside, if one does: it must be the same
 * @throws InvalidField when the scalar is out of range or the public point is another
 */
export function ecPrivateFromSec1(sec1: Uint8Array, outer: Curve | undefined, policy: KeyPolicy): ParsedKey {
  const [version, scalar, ...others] = derMembers(sec1, what)
  if (derSmallNumber(version, what) !== 1)
    throw kmipFailure('InvalidField', `${what} is of an unknown version.`)
  const parameters = others.find(({ tag }) => tag === contextTag(0))?.content
  const inner = parameters === undefined ? undefined : curveOfParameters(parameters, policy)
  const curve = inner ?? outer
  if (curve === undefined) throw kmipFailure('InvalidField', 'The curve of the key is missing.')
  if (outer !== undefined && outer !== curve)
    throw kmipFailure('InvalidField', 'The key names two different curves.')
  const d = derContent(scalar, derTag.octetString, what)
  const point = publicPoint(curve, d)
  const given = others.find(({ tag }) => tag === contextTag(1))
  if (given !== undefined) {
    const [bits] = derMembersOf(given.content)
    if (!pointIn(curve, derBits(bits, what), 'uncompressed').equals(point))
      throw kmipFailure('InvalidField', 'The public point is not that of the private key.')
  }
  return {
    canonical: buildPkcs8({
      identifier: ecIdentifier,
      parameters: derObjectIdentifier(curve.identifier),
      key: sec1,
    }),
    ...described(curve),
  }
}

/** From the scalar alone, of any length up to that of the order. */
export function ecPrivateFromScalar(scalar: Uint8Array, curve: Curve, policy: KeyPolicy): ParsedKey {
  if (scalar.length > curve.scalarBytes)
    throw kmipFailure('InvalidField', 'The private scalar is too large for its curve.')
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

/** A point in any form, kept in that form. @throws InvalidField when it is not on the curve */
export function ecPublicFromPoint(point: Uint8Array, curve: Curve): ParsedKey {
  pointIn(curve, point, 'uncompressed')
  const canonical = buildSpki({
    identifier: ecIdentifier,
    parameters: derObjectIdentifier(curve.identifier),
    key: point,
  })
  return { canonical, ...described(curve) }
}

function described(curve: Curve) {
  return { algorithm: 'EC', bits: curve.bits, curve: curve.name } as const
}

/** d·G, uncompressed. @throws InvalidField when d is 0 or not below the order */
function publicPoint(curve: Curve, d: Uint8Array): Buffer {
  // Types of the runtime do not list the constructor's use without `createECDH`.
  const ecdh = new (ECDH as unknown as new (curve: string) => ECDH)(curve.openssl)
  try {
    ecdh.setPrivateKey(d)
    return ecdh.getPublicKey(undefined, 'uncompressed') as unknown as Buffer
  } catch {
    throw kmipFailure('InvalidField', 'The private scalar is not one of its curve.')
  }
}

/** The same point in another form. @throws InvalidField when it is not on the curve */
export function pointIn(curve: Curve, point: Uint8Array, form: PointForm): Buffer {
  const first = point[0] ?? 0
  const bytes = first === 2 || first === 3 ? curve.fieldBytes + 1 : curve.fieldBytes * 2 + 1
  // The point at infinity, a single 0, is on every curve, and nobody's key.
  if (first < 2 || first > 7 || point.length !== bytes) throw notOnCurve()
  try {
    return ECDH.convertKey(point, curve.openssl, undefined, undefined, form) as unknown as Buffer
  } catch {
    throw notOnCurve()
  }
}

function notOnCurve() {
  return kmipFailure('InvalidField', 'The public point is not on its curve.')
}

export function formOf(point: Uint8Array): PointForm {
  const first = point[0] ?? 0
  return first === 4 ? 'uncompressed' : first >= 6 ? 'hybrid' : 'compressed'
}

/** The ECPrivateKey of a stored key; with curve and public point, unless `asStored`. */
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

/** The scalar of a stored private key, as long as it was stored. */
export function ecScalar(canonical: Uint8Array): Uint8Array {
  const [, scalar] = derMembers(parsePkcs8(canonical).key, what)
  return derContent(scalar, derTag.octetString, what)
}

/** The point of a stored public key, in the form asked for or as it was stored. */
export function ecPoint(canonical: Uint8Array, curve: Curve, form: PointForm | undefined): Uint8Array {
  const { key } = parseSpki(canonical)
  return form === undefined || form === formOf(key) ? key : pointIn(curve, key, form)
}

/** KMIP 2.1 §3.1.4: {RecommendedCurve, D} and {RecommendedCurve, QString}. */
export function transparentEcPrivate(curve: ValueName<'RecommendedCurve'>, d: Uint8Array): StructureNode {
  return structure(Tag.KeyMaterial, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve]),
    unsignedInteger(Tag.D, d),
  ])
}

export function transparentEcPublic(curve: ValueName<'RecommendedCurve'>, point: Uint8Array): StructureNode {
  return structure(Tag.KeyMaterial, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve]),
    byteString(Tag.QString, point),
  ])
}

/** D of a transparent private key: a number (KMIP 2.1), or bytes as some clients send it. */
export function scalarOf(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.D)
  if (member?.type === 'ByteString') return required(material, Tag.D, 'ByteString')
  return unsignedBytes({ tag: Tag.D, type: 'BigInteger', value: required(material, Tag.D, 'BigInteger') })
}

/** Q of a transparent public key: bytes of a point (KMIP 2.1), or a number holding them. */
export function pointOf(material: StructureNode): Uint8Array {
  const member = material.value.find(({ tag }) => tag === Tag.QString)
  if (member?.type === 'BigInteger')
    return unsignedBytes({
      tag: Tag.QString,
      type: 'BigInteger',
      value: required(material, Tag.QString, 'BigInteger'),
    })
  return optional(material, Tag.QString, 'ByteString') ?? required(material, Tag.QString, 'ByteString')
}
