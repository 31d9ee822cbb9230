import type { KeyObject } from 'node:crypto'
import {
  contextTag,
  type DerElement,
  derEach,
  derElementAt,
  derMagnitude,
  derMembers,
  derTag,
} from '../../asn1/der.ts'
import { readTime } from '../../asn1/time.ts'
import { pkiError } from '../../error.ts'
import {
  type Extension,
  extensionIdentifiers,
  readAuthorityKeyIdentifier,
  readExtensions,
} from '../extensions.ts'
import { readSigned } from '../signed.ts'
import { isSignedWith, type Signed } from '../signing.ts'
import { type CrlEntry, checkEntry, entryParts, readEntry } from './entries.ts'
import { type ReadCrlScope, readIssuingDistributionPoint } from './scope.ts'

/** A parsed CRL (RFC 5280 §5.1), not verified: see `crlIsSignedWith`. */
export interface Crl {
  readonly signed: Signed
  /** DER of the name. */
  readonly issuer: Uint8Array
  /** Unix milliseconds. */
  readonly thisUpdate: number
  readonly nextUpdate: number | undefined
  readonly number: bigint | undefined
  /** Number of the base CRL of a delta CRL; undefined for a full CRL. */
  readonly baseNumber: bigint | undefined
  readonly authorityKeyIdentifier: Uint8Array | undefined
  readonly scope: ReadCrlScope | undefined
  /** It has an unknown critical extension and must not be used (RFC 5280 §5.2, §5.3). */
  readonly unknownCritical: boolean
  readonly count: number
  /** The entries in their order. */
  entries(): Generator<CrlEntry, void>
  /**
   * Finds the last entry of this serial number (the content of the INTEGER). The first call builds an index of all
   * entries, so that a CRL of 100,000 entries is scanned once.
   */
  find(serial: Uint8Array): CrlEntry | undefined
}

const what = 'The CRL'

/**
 * Reads a CRL of version 1 or 2, DER. Time and memory are proportional to its size, which the caller must limit.
 * @throws PkiError
 */
export function readCrl(der: Uint8Array): Crl {
  const signed = readSigned(der, what)
  const members = [...derMembers(signed.data, what)]
  const version = members[0]?.tag === derTag.integer ? derMagnitude(members.shift(), what) : undefined
  if (version !== undefined && version[0] !== 1) throw decodeError('is of an unknown version')
  const [algorithm, issuer, thisUpdate, ...rest] = members
  if (algorithm === undefined || !Buffer.from(algorithm.whole).equals(signed.algorithm))
    throw decodeError('names two different algorithms')
  if (issuer?.tag !== derTag.sequence) throw decodeError('has no issuer')
  const nextUpdate = isTime(rest[0]) ? readTime(rest.shift(), what) : undefined
  const list = rest[0]?.tag === derTag.sequence ? rest.shift() : undefined
  const extensions = extensionsIn(rest.shift())
  if (rest.length > 0) throw decodeError('has too many members')
  const revoked = list?.content ?? new Uint8Array()
  const scanned = scan(revoked)
  return {
    signed,
    issuer: issuer.whole,
    thisUpdate: readTime(thisUpdate, what),
    nextUpdate,
    number: numberIn(extensions, extensionIdentifiers.crlNumber),
    baseNumber: numberIn(extensions, extensionIdentifiers.deltaCrlIndicator),
    authorityKeyIdentifier: readAuthorityKeyIdentifier(extensions),
    scope: readIssuingDistributionPoint(extensions),
    unknownCritical:
      scanned.unknownCritical ||
      extensions.some(({ critical, identifier }) => critical && !understood.has(identifier)),
    count: scanned.count,
    *entries() {
      for (const element of derEach(revoked, what)) yield readEntry(element)
    },
    find: finder(revoked),
  }
}

/** Whether the CRL is signed with this key. */
export function crlIsSignedWith({ signed }: Crl, key: KeyObject): boolean {
  return isSignedWith(signed, key)
}

const understood: ReadonlySet<string> = new Set([
  extensionIdentifiers.authorityKeyIdentifier,
  extensionIdentifiers.crlNumber,
  extensionIdentifiers.deltaCrlIndicator,
  extensionIdentifiers.issuingDistributionPoint,
])

function isTime(element: DerElement | undefined): boolean {
  return element?.tag === derTag.utcTime || element?.tag === derTag.generalizedTime
}

function extensionsIn(element: DerElement | undefined): readonly Extension[] {
  if (element === undefined) return []
  if (element.tag !== contextTag(0)) throw decodeError('has an unknown member')
  return readExtensions(element.content, what)
}

function numberIn(extensions: readonly Extension[], wanted: string): bigint | undefined {
  const found = extensions.find(({ identifier }) => identifier === wanted)
  if (found === undefined) return undefined
  const magnitude = derMagnitude(derElementAt(found.value, 0, what), what)
  if (magnitude.length > 20) throw decodeError('has a number of more than 20 bytes')
  return BigInt(`0x${Buffer.from(magnitude).toString('hex')}`)
}

/** Reads every entry once, so that a CRL with a malformed entry is refused as a whole. */
function scan(revoked: Uint8Array): { readonly count: number; readonly unknownCritical: boolean } {
  let count = 0
  let unknownCritical = false
  for (const element of derEach(revoked, what)) {
    if (checkEntry(element)) unknownCritical = true
    count += 1
  }
  return { count, unknownCritical }
}

function finder(revoked: Uint8Array): Crl['find'] {
  let index: Map<string, number> | undefined
  return (serial) => {
    index ??= indexSerials(revoked)
    const at = index.get(toSerialKey(serial))
    return at === undefined ? undefined : readEntry(derElementAt(revoked, at, what))
  }
}

/**
 * Builds an index from serial numbers to offsets. The keys are strings, whose hashes cannot be made to collide by an
 * attacker.
 */
function indexSerials(revoked: Uint8Array): Map<string, number> {
  const index = new Map<string, number>()
  let at = 0
  for (const element of derEach(revoked, what)) {
    index.set(toSerialKey(entryParts(element).serial), at)
    at += element.whole.length
  }
  return index
}

function toSerialKey(serial: Uint8Array): string {
  return Buffer.from(serial.buffer, serial.byteOffset, serial.byteLength).toString('latin1')
}

function decodeError(problem: string) {
  return pkiError('malformed', `${what} ${problem}.`)
}
