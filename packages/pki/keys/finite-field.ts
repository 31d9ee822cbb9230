import { derInteger, derMagnitude, derMembers, derSequence } from '../der.ts'
import { pkiError } from '../error.ts'
import type { KeyPolicy, ParsedKey } from './key-algorithms.ts'
import { bitLength, toNumber } from './numbers.ts'
import { buildPkcs8, buildSpki, parsePkcs8, parseSpki, type WrappedKeyBytes } from './pkcs8.ts'

export type DomainNumber = 'P' | 'Q' | 'G' | 'J'

/** DSA (FIPS 186-4) and Diffie-Hellman keys. */
export interface FiniteField {
  readonly algorithm: 'DSA' | 'DH'
  readonly identifier: string
  /** Members of the parameters in their DER order. */
  readonly order: readonly DomainNumber[]
}

const dsa: FiniteField = { algorithm: 'DSA', identifier: '1.2.840.10040.4.1', order: ['P', 'Q', 'G'] }
/** PKCS #3: without Q. A private length may follow; it is kept, but never written. */
const dh: FiniteField = { algorithm: 'DH', identifier: '1.2.840.113549.1.3.1', order: ['P', 'G'] }
/** X9.42 (RFC 3279 §2.3.3): with Q and optionally J. */
const x942: FiniteField = { algorithm: 'DH', identifier: '1.2.840.10046.2.1', order: ['P', 'G', 'Q', 'J'] }

const byIdentifier = new Map([dsa, dh, x942].map((field) => [field.identifier, field]))

export function findFiniteField(identifier: string): FiniteField | undefined {
  return byIdentifier.get(identifier)
}

/** Domain parameters, big-endian. */
export type Domain = Partial<Record<DomainNumber, Uint8Array>>

const maxNumberBytes = 1280
const what = 'The key'

/**
 * Builds a key from the domain parameters and the private or public number.
 * @throws PkiError
 */
export function finiteFieldFromNumbers(
  type: 'PrivateKey' | 'PublicKey',
  algorithm: 'DSA' | 'DH',
  domain: Domain,
  own: Uint8Array,
  policy: KeyPolicy,
): ParsedKey {
  const field = algorithm === 'DSA' ? dsa : domain.Q === undefined ? dh : x942
  if (domain.J !== undefined && field === dh)
    throw pkiError('invalid_key', 'A Diffie-Hellman key with J must have Q too.')
  const shape = checkKey(algorithm, type, domain, own, policy)
  const parameters = derSequence(
    ...field.order.flatMap((name) => {
      const value = domain[name]
      return value === undefined ? [] : [derInteger(value)]
    }),
  )
  const inner = { identifier: field.identifier, parameters, key: derInteger(own) }
  return { canonical: type === 'PrivateKey' ? buildPkcs8(inner) : buildSpki(inner), ...shape }
}

/** Reads a PKCS#8 or SPKI, which is stored unchanged. @throws PkiError */
export function finiteFieldFromDer(
  type: 'PrivateKey' | 'PublicKey',
  field: FiniteField,
  inner: WrappedKeyBytes,
  whole: Uint8Array,
  policy: KeyPolicy,
): ParsedKey {
  const { domain, own } = readParts(field, inner)
  return { canonical: Uint8Array.from(whole), ...checkKey(field.algorithm, type, domain, own, policy) }
}

/** Returns the numbers of a stored key; undefined for other algorithms. */
export function finiteFieldNumbers(
  type: 'PrivateKey' | 'PublicKey',
  canonical: Uint8Array,
): { readonly algorithm: 'DSA' | 'DH'; readonly domain: Domain; readonly own: Uint8Array } | undefined {
  const inner = type === 'PrivateKey' ? parsePkcs8(canonical) : parseSpki(canonical)
  const field = findFiniteField(inner.identifier)
  return field === undefined ? undefined : { algorithm: field.algorithm, ...readParts(field, inner) }
}

function readParts(field: FiniteField, inner: WrappedKeyBytes): { domain: Domain; own: Uint8Array } {
  const numbers = derMembers(inner.parameters ?? new Uint8Array(), what)
  const domain: Domain = {}
  for (const [index, name] of field.order.entries()) {
    const element = numbers[index]
    if (element === undefined && name === 'J') continue
    // Validation parameters (a SEQUENCE) may follow instead of J.
    if (name === 'J' && element?.tag !== 0x02) continue
    domain[name] = derMagnitude(element, what)
  }
  const [own] = derMembers(derSequence(inner.key), what)
  return { domain, own: derMagnitude(own, what) }
}

/**
 * Checks sizes and ranges: 1 < G < P, Q divides P - 1, 0 < X < Q, 1 < Y < P. Short keys are accepted to verify old
 * signatures, but not under FIPS.
 */
function checkKey(
  algorithm: 'DSA' | 'DH',
  type: 'PrivateKey' | 'PublicKey',
  domain: Domain,
  own: Uint8Array,
  { fips }: KeyPolicy,
) {
  const bytes = [domain.P, domain.Q, domain.G, domain.J, own]
  if (bytes.some((value) => (value?.length ?? 0) > maxNumberBytes))
    throw pkiError('invalid_key', 'A number of the key is too large.')
  if (domain.P === undefined || domain.G === undefined || (algorithm === 'DSA' && domain.Q === undefined))
    throw pkiError('invalid_key', 'A domain parameter of the key is missing.')
  const [p, g, key] = [toNumber(domain.P), toNumber(domain.G), toNumber(own)]
  const q = domain.Q === undefined ? undefined : toNumber(domain.Q)
  const bits = bitLength(p)
  const minBits = fips ? 2048 : 512
  if (bits < minBits || bits > 10_240) throw pkiError('invalid_key', `P must have ${minBits} to 10240 bits.`)
  const inRange = type === 'PrivateKey' ? key > 0n && key < (q ?? p) : key > 1n && key < p
  if (p % 2n === 0n || g < 2n || g >= p || !inRange || (q !== undefined && (q < 3n || (p - 1n) % q !== 0n)))
    throw pkiError('invalid_key', 'The numbers of the key contradict each other.')
  return { algorithm, bits, ...(q !== undefined && { qLength: bitLength(q) }) }
}
