import {
  type DerElement,
  der,
  derContent,
  derElementAt,
  derElements,
  derHeader,
  derSequence,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { derGeneralizedTime, derTime, readGeneralizedTime, readTime } from '../time.ts'
import { type Extension, encodeExtension, readExtensions } from './extensions.ts'

/** Reasons of a revocation and their numbers (RFC 5280 §5.3.1). The number 7 is not used. */
export const revocationReasons = {
  unspecified: 0,
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  removeFromCRL: 8,
  privilegeWithdrawn: 9,
  aACompromise: 10,
} as const
export type RevocationReason = keyof typeof revocationReasons

const byNumber: ReadonlyMap<number, RevocationReason> = new Map(
  Object.entries(revocationReasons).map(([name, number]) => [number, name as RevocationReason]),
)

/** @throws PkiError for a number that is no reason */
export function revocationReason(number: number, what: string): RevocationReason {
  const name = byNumber.get(number)
  if (name === undefined) throw pkiError('malformed', `${what} has an unknown revocation reason.`)
  return name
}

/** A certificate on a CRL (RFC 5280 §5.3). Times are Unix milliseconds, kept to the second. */
export interface CrlEntry {
  /** The content of the INTEGER, as in certificates. */
  readonly serial: Uint8Array
  readonly revokedAt: number
  /** undefined is the same as `unspecified`: neither is encoded. */
  readonly reason?: RevocationReason | undefined
  /** Date from which the key may have been compromised (invalidity date). */
  readonly invalidityDate?: number | undefined
}

const identifiers = { reasonCode: '2.5.29.21', invalidityDate: '2.5.29.24' } as const
const maxSerialBytes = 64
const chunkBytes = 65_536
const maxEntryBytes = 256

/** Concatenated DER entries in chunks: a list of any length is copied only once, into the CRL. */
export interface EncodedEntries {
  readonly chunks: readonly Uint8Array[]
}

/**
 * Encodes entries from a stream. The chunks of several calls can be concatenated to one list.
 * @param delta whether reasons that only a delta CRL may have are allowed
 * @throws PkiError `invalid_value`
 */
export function encodeEntries(entries: Iterable<CrlEntry>, delta = false): EncodedEntries {
  const chunks: Buffer[] = []
  let chunk = Buffer.allocUnsafe(chunkBytes)
  let used = 0
  let time: { readonly second: number; readonly encoded: Buffer } | undefined
  for (const entry of entries) {
    if (used + maxEntryBytes > chunkBytes) {
      chunks.push(chunk.subarray(0, used))
      chunk = Buffer.allocUnsafe(chunkBytes)
      used = 0
    }
    const second = Math.floor(entry.revokedAt / 1000)
    if (time?.second !== second) time = { second, encoded: derTime(entry.revokedAt) }
    const { serial } = entry
    requireSerial(serial)
    const extensions = entryExtensions(entry, delta)
    const header = derHeader(
      derTag.sequence,
      2 + serial.length + time.encoded.length + (extensions?.length ?? 0),
    )
    chunk.set(header, used)
    used += header.length
    chunk[used] = derTag.integer
    chunk[used + 1] = serial.length
    chunk.set(serial, used + 2)
    used += 2 + serial.length
    chunk.set(time.encoded, used)
    used += time.encoded.length
    if (extensions === undefined) continue
    chunk.set(extensions, used)
    used += extensions.length
  }
  chunks.push(chunk.subarray(0, used))
  return { chunks }
}

/** X.690 §8.3.2. RFC 5280 forbids negative serial numbers, but existing certificates with one can be revoked. */
function requireSerial(serial: Uint8Array): void {
  const [first, second = 0] = serial
  const padded = serial.length > 1 && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  if (first === undefined || serial.length > maxSerialBytes || padded)
    throw pkiError('invalid_value', 'The serial number of a revoked certificate is invalid.')
}

function reasonExtension(number: number): Buffer {
  const value = der(derTag.enumerated, Uint8Array.of(number))
  return encodeExtension({ identifier: identifiers.reasonCode, critical: false, value })
}

const reasonExtensions = Object.fromEntries(
  Object.entries(revocationReasons).map(([name, number]) => [name, reasonExtension(number)]),
) as Readonly<Record<RevocationReason, Buffer>>

/** Cache of the extensions of entries with a reason and no date: nearly all of them. */
const reasonOnly = Object.fromEntries(
  Object.entries(reasonExtensions).map(([name, extension]) => [name, derSequence(extension)]),
) as Readonly<Record<RevocationReason, Buffer>>

function entryExtensions({ reason, invalidityDate }: CrlEntry, delta: boolean): Buffer | undefined {
  // RFC 5280 §5.3.1: only allowed in delta CRLs; a full CRL omits the certificate.
  if (reason === 'removeFromCRL' && !delta)
    throw pkiError('invalid_value', 'Only a delta CRL may contain removeFromCRL.')
  const said = reason === undefined || reason === 'unspecified' ? undefined : reason
  if (invalidityDate === undefined) return said === undefined ? undefined : reasonOnly[said]
  const value = derGeneralizedTime(invalidityDate)
  return derSequence(
    ...(said === undefined ? [] : [reasonExtensions[said]]),
    encodeExtension({ identifier: identifiers.invalidityDate, critical: false, value }),
  )
}

const what = 'The CRL'

/** Reads the mandatory parts of an entry, without its extensions. @throws PkiError */
export function entryParts(entry: DerElement) {
  if (entry.tag !== derTag.sequence) throw pkiError('malformed', `${what} has an invalid entry.`)
  const serial = derElementAt(entry.content, 0, what)
  const time = derElementAt(entry.content, serial.whole.length, what)
  const behind = entry.content.subarray(serial.whole.length + time.whole.length)
  const content = derContent(serial, derTag.integer, what)
  if (content.length === 0 || content.length > maxSerialBytes)
    throw pkiError('malformed', `${what} has an invalid serial number.`)
  return { serial: content, time, extensions: behind.length === 0 ? undefined : behind }
}

/** @throws PkiError */
export function readEntry(entry: DerElement): CrlEntry {
  const { serial, time, extensions } = entryParts(entry)
  const said = extensions === undefined ? [] : readExtensions(extensions, what)
  const revokedAt = readTime(time, what)
  return { serial, revokedAt, ...details(said) }
}

function details(said: readonly Extension[]) {
  const find = (wanted: string) => said.find(({ identifier }) => identifier === wanted)?.value
  const [reason, date] = [find(identifiers.reasonCode), find(identifiers.invalidityDate)]
  return {
    reason: reason === undefined ? undefined : revocationReason(readEnumerated(reason), what),
    invalidityDate: date === undefined ? undefined : readGeneralizedTime(derElements(date, what)[0], what),
  }
}

function readEnumerated(value: Uint8Array): number {
  const [element] = derElements(value, what)
  if (element?.tag !== derTag.enumerated) throw pkiError('malformed', `${what} has an invalid reason.`)
  return derSmallNumber({ ...element, tag: derTag.integer }, what)
}

const understood: ReadonlySet<string> = new Set(Object.values(identifiers))

/**
 * Checks that an entry can be read.
 * @throws PkiError
 * @returns true for an unknown critical extension, because of which the whole CRL must not be used (RFC 5280
 *   §5.3)
 */
export function checkEntry(entry: DerElement): boolean {
  const { time, extensions } = entryParts(entry)
  readTime(time, what)
  if (extensions === undefined) return false
  // The most common extension is not parsed again for each of 100,000 entries.
  const last = extensions.length - 1
  if (
    last === reasonOnly.keyCompromise.length - 1 &&
    startsAlike(extensions, reasonOnly.keyCompromise, last)
  ) {
    revocationReason(extensions[last] ?? 0, what)
    return false
  }
  const said = readExtensions(extensions, what)
  details(said)
  return said.some(({ critical, identifier }) => critical && !understood.has(identifier))
}

function startsAlike(one: Uint8Array, other: Uint8Array, length: number): boolean {
  for (let at = 0; at < length; at += 1) if (one[at] !== other[at]) return false
  return true
}
