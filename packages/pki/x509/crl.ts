import type { KeyObject } from 'node:crypto'
import {
  contextTag,
  type DerElement,
  der,
  derEach,
  derElementAt,
  derElements,
  derFlag,
  derHeader,
  derInteger,
  derMagnitude,
  derMembers,
  derNumber,
  derSequence,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { derTime, readTime } from '../time.ts'
import {
  type CrlEntry,
  checkEntry,
  type EncodedEntries,
  encodeEntries,
  entryParts,
  readEntry,
} from './crl-entries.ts'
import {
  authorityKeyIdentifier,
  computeKeyIdentifier,
  type Extension,
  encodeExtension,
  extensionIdentifiers,
  readAuthorityKeyIdentifier,
  readExtensions,
} from './extensions.ts'
import type { Issuer } from './issue.ts'
import { isSignedWith, readSigned, type Signed, selectSigner, writeSigned } from './signing.ts'

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

export interface NewCrl {
  /** Higher than that of every earlier CRL (RFC 5280 §5.2.3), below 2^159. */
  readonly number: bigint
  /** Unix milliseconds; whole seconds are kept. */
  readonly thisUpdate: number
  readonly nextUpdate: number
  /** Revoked certificates of the issuer, each serial once. A stream, or the result of `encodeEntries`. */
  readonly entries: Iterable<CrlEntry> | EncodedEntries
  /** Set when the CRL does not cover all certificates of its issuer, or has a fixed URL. */
  readonly scope?: CrlScope
  /** Number of the base CRL, for a delta CRL (RFC 5280 §5.2.4). */
  readonly baseNumber?: bigint
}

/**
 * Signs a CRL of version 2 (RFC 5280 §5). Memory holds at most three copies of the list: its chunks, the signed part
 * and the result.
 * @returns DER
 * @throws PkiError `invalid_value`, `cannot_sign`
 */
export async function issueCrl(wanted: NewCrl, issuer: Issuer): Promise<Buffer> {
  if (!(wanted.nextUpdate >= wanted.thisUpdate))
    throw pkiError('invalid_value', 'nextUpdate of a CRL must be after thisUpdate.')
  const signer = selectSigner(issuer)
  const extensions = crlExtensions(wanted, issuer)
  const { entries } = wanted
  const { chunks } = 'chunks' in entries ? entries : encodeEntries(entries, wanted.baseNumber !== undefined)
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  const data = derSequence(
    derNumber(1),
    signer.algorithm,
    issuer.name,
    derTime(wanted.thisUpdate),
    derTime(wanted.nextUpdate),
    // RFC 5280 §5.1.2.6: no list at all when nothing is revoked.
    ...(length === 0 ? [] : [derHeader(derTag.sequence, length), ...chunks]),
    der(contextTag(0), derSequence(...extensions.map(encodeExtension))),
  )
  return writeSigned(data, signer)
}

function crlExtensions({ number, scope, baseNumber }: NewCrl, issuer: Issuer): readonly Extension[] {
  const extensions: Extension[] = [
    authorityKeyIdentifier(issuer.keyIdentifier ?? computeKeyIdentifier(issuer.spki)),
    { identifier: extensionIdentifiers.crlNumber, critical: false, value: crlNumber(number) },
  ]
  if (scope !== undefined) extensions.push(issuingDistributionPoint(scope))
  if (baseNumber === undefined) return extensions
  if (baseNumber >= number)
    throw pkiError('invalid_value', 'The number of a delta CRL must be higher than that of its base.')
  const value = crlNumber(baseNumber)
  return [...extensions, { identifier: extensionIdentifiers.deltaCrlIndicator, critical: true, value }]
}

function crlNumber(number: bigint): Buffer {
  // RFC 5280 §5.2.3: at most 20 bytes, and it is not negative.
  if (number < 0n || number >= 1n << 159n)
    throw pkiError('invalid_value', 'The number of a CRL must have at most 20 bytes.')
  const hex = number.toString(16)
  return derInteger(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'))
}

/** The certificates that a CRL covers: the extension IssuingDistributionPoint (RFC 5280 §5.2.5). */
interface CrlScope {
  /** URLs of this CRL; certificates name one of them. */
  readonly urls: readonly string[]
  readonly only?: 'users' | 'authorities'
}

/** Contents of the scope extension of a CRL. */
interface ReadCrlScope {
  /** DER of each GeneralName; undefined: the CRL covers certificates of any distribution point. */
  readonly names: readonly Uint8Array[] | undefined
  readonly onlyUsers: boolean
  readonly onlyAuthorities: boolean
  readonly onlyAttributes: boolean
  /** The CRL covers only some reasons: a certificate that is not listed may be revoked for another one. */
  readonly someReasons: boolean
  /** The CRL may contain entries of other issuers. */
  readonly indirect: boolean
}

const yes = Uint8Array.of(0xff)

/** RFC 5280 §5.2.5: critical. @throws PkiError when it would be empty */
function issuingDistributionPoint({ urls, only }: CrlScope): Extension {
  if (urls.length === 0 && only === undefined)
    throw pkiError('invalid_value', 'The scope of a CRL must be a URL or a kind of certificates.')
  const names = urls.map((url) => der(contextTag(6, false), Buffer.from(url, 'latin1')))
  const point = names.length === 0 ? [] : [der(contextTag(0), der(contextTag(0), ...names))]
  const kind = only === undefined ? [] : [der(contextTag(only === 'users' ? 1 : 2, false), yes)]
  return {
    identifier: extensionIdentifiers.issuingDistributionPoint,
    critical: true,
    value: derSequence(...point, ...kind),
  }
}

/** @throws PkiError */
export function readIssuingDistributionPoint(extensions: readonly Extension[]): ReadCrlScope | undefined {
  const found = extensions.find(
    ({ identifier }) => identifier === extensionIdentifiers.issuingDistributionPoint,
  )
  if (found === undefined) return undefined
  const what = 'issuingDistributionPoint'
  const members = derMembers(found.value, what)
  const flag = (number: number) => {
    const member = members.find(({ tag }) => tag === contextTag(number, false))
    return member !== undefined && derFlag({ ...member, tag: 0x01 }, what)
  }
  const point = members.find(({ tag }) => tag === contextTag(0))
  return {
    names: point === undefined ? undefined : readNames(point.content, what),
    onlyUsers: flag(1),
    onlyAuthorities: flag(2),
    someReasons: members.some(({ tag }) => tag === contextTag(3, false)),
    indirect: flag(4),
    onlyAttributes: flag(5),
  }
}

/**
 * Reads a DistributionPointName: full names, or a name relative to the issuer, which is not used in practice and
 * matches no name.
 */
function readNames(content: Uint8Array, what: string): readonly Uint8Array[] {
  const [name, another] = derElements(content, what)
  if (name === undefined || another !== undefined)
    throw pkiError('malformed', `${what} has no distribution point name.`)
  return name.tag === contextTag(0) ? derElements(name.content, what).map(({ whole }) => whole) : []
}
