import { Tag, type TagName } from '@warder/kmip/tables'
import { optional, type StructureNode, structure, unsignedBytes, unsignedInteger } from '@warder/kmip/ttlv'
import { kmipFailure } from '../../kms/kmip/engine/failure.ts'
import type { KeyPolicy, ParsedKey } from '../../kms/kmip/keys/parsed-key.ts'
import { derInteger, derMagnitude, derMembers, derSequence } from '../asn1/der.ts'
import { bitLength, toNumber } from './numbers.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki, type WrappedKeyBytes } from './pkcs8.ts'

/** DSA (FIPS 186-4) and Diffie-Hellman keys. */
export interface FiniteField {
  readonly algorithm: 'DSA' | 'DH'
  readonly identifier: string
  /** Members of the parameters in their DER order. */
  readonly order: readonly TagName[]
}

const dsa: FiniteField = { algorithm: 'DSA', identifier: '1.2.840.10040.4.1', order: ['P', 'Q', 'G'] }
/** PKCS #3: without Q. A private length may follow; it is kept, never written. */
const dh: FiniteField = { algorithm: 'DH', identifier: '1.2.840.113549.1.3.1', order: ['P', 'G'] }
/** X9.42 (RFC 3279 §2.3.3): with Q, perhaps J. */
const x942: FiniteField = { algorithm: 'DH', identifier: '1.2.840.10046.2.1', order: ['P', 'G', 'Q', 'J'] }

const byIdentifier = new Map([dsa, dh, x942].map((field) => [field.identifier, field]))

export function finiteFieldOf(identifier: string): FiniteField | undefined {
  return byIdentifier.get(identifier)
}

type Domain = Partial<Record<TagName, Uint8Array>>

const longestNumber = 1280
const what = 'The key'

/** Members that KMIP lists (KMIP 2.1 §3.1.4), in its order; X and Y are the keys themselves. */
const transparent: Readonly<Record<'DSA' | 'DH', readonly TagName[]>> = {
  DSA: ['P', 'Q', 'G'],
  DH: ['P', 'Q', 'G', 'J'],
}

/** {P, Q, G, X} and the like. @throws InvalidField */
export function finiteFieldFromTransparent(
  type: 'PrivateKey' | 'PublicKey',
  algorithm: 'DSA' | 'DH',
  material: StructureNode,
  policy: KeyPolicy,
): ParsedKey {
  const domain: Domain = {}
  for (const name of transparent[algorithm]) {
    const value = numberOf(material, name)
    if (value !== undefined) domain[name] = value
  }
  const own = numberOf(material, type === 'PrivateKey' ? 'X' : 'Y')
  if (own === undefined) throw kmipFailure('InvalidField', 'The key has no number of its own.')
  const field = algorithm === 'DSA' ? dsa : domain.Q === undefined ? dh : x942
  if (domain.J !== undefined && field === dh)
    throw kmipFailure('InvalidField', 'A Diffie-Hellman key with J has Q too.')
  const shape = checked(algorithm, type, domain, own, policy)
  const parameters = derSequence(
    ...field.order.flatMap((name) => {
      const value = domain[name]
      return value === undefined ? [] : [derInteger(value)]
    }),
  )
  const inner = { identifier: field.identifier, parameters, key: derInteger(own) }
  return { canonical: type === 'PrivateKey' ? buildPkcs8(inner) : buildSpki(inner), ...shape }
}

/** A PKCS#8 or SPKI, kept as it is. @throws InvalidField */
export function finiteFieldFromDer(
  type: 'PrivateKey' | 'PublicKey',
  field: FiniteField,
  inner: WrappedKeyBytes,
  whole: Uint8Array,
  policy: KeyPolicy,
): ParsedKey {
  const { domain, own } = partsOf(field, inner)
  return { canonical: Uint8Array.from(whole), ...checked(field.algorithm, type, domain, own, policy) }
}

export function finiteFieldToTransparent(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
): StructureNode | undefined {
  const inner = type === 'PrivateKey' ? parsePkcs8(canonical) : parseSpki(canonical)
  const field = finiteFieldOf(inner.identifier)
  if (field === undefined) return undefined
  const { domain, own } = partsOf(field, inner)
  return structure(Tag.KeyMaterial, [
    ...transparent[field.algorithm].map((name) => {
      const value = domain[name]
      return value === undefined ? undefined : unsignedInteger(Tag[name], value)
    }),
    unsignedInteger(type === 'PrivateKey' ? Tag.X : Tag.Y, own),
  ])
}

function partsOf(field: FiniteField, inner: WrappedKeyBytes): { domain: Domain; own: Uint8Array } {
  const numbers = derMembers(inner.parameters ?? new Uint8Array(), what)
  const domain: Domain = {}
  for (const [index, name] of field.order.entries()) {
    const element = numbers[index]
    if (element === undefined && name === 'J') continue
    // Validation parameters, a SEQUENCE, may take the place of J.
    if (name === 'J' && element?.tag !== 0x02) continue
    domain[name] = derMagnitude(element, what)
  }
  const [own] = derMembers(derSequence(inner.key), what)
  return { domain, own: derMagnitude(own, what) }
}

function numberOf(material: StructureNode, name: TagName): Uint8Array | undefined {
  const value = optional(material, Tag[name], 'BigInteger')
  return value === undefined ? undefined : unsignedBytes({ tag: Tag[name], type: 'BigInteger', value })
}

/**
 * Sizes and ranges: 1 < G < P, Q divides P - 1, 0 < X < Q, 1 < Y < P. Short keys are kept for those who still have
 * them, to check old signatures; under FIPS they are not.
 */
function checked(
  algorithm: 'DSA' | 'DH',
  type: 'PrivateKey' | 'PublicKey',
  domain: Domain,
  own: Uint8Array,
  { fips }: KeyPolicy,
) {
  const bytes = [domain.P, domain.Q, domain.G, domain.J, own]
  if (bytes.some((value) => (value?.length ?? 0) > longestNumber))
    throw kmipFailure('InvalidField', 'A number of the key is too large.')
  if (domain.P === undefined || domain.G === undefined || (algorithm === 'DSA' && domain.Q === undefined))
    throw kmipFailure('InvalidField', 'A domain parameter of the key is missing.')
  const [p, g, key] = [toNumber(domain.P), toNumber(domain.G), toNumber(own)]
  const q = domain.Q === undefined ? undefined : toNumber(domain.Q)
  const bits = bitLength(p)
  const smallest = fips ? 2048 : 512
  if (bits < smallest || bits > 10_240)
    throw kmipFailure('InvalidField', `P must have ${smallest} to 10240 bits.`)
  const inRange = type === 'PrivateKey' ? key > 0n && key < (q ?? p) : key > 1n && key < p
  if (p % 2n === 0n || g < 2n || g >= p || !inRange || (q !== undefined && (q < 3n || (p - 1n) % q !== 0n)))
    throw kmipFailure('InvalidField', 'The numbers of the key contradict each other.')
  return { algorithm, bits, ...(q !== undefined && { qLength: bitLength(q) }) }
}
