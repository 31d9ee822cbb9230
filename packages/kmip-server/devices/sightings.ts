import { createHash, type X509Certificate } from 'node:crypto'
import { findBySerial, possibleIssuers } from '@warder/authority'
import { BoundedMap, type Logger } from '@warder/base'
import { nameText, type ParsedCertificate, PkiError, parseCertificate } from '@warder/pki'
import type { Change, Database } from '@warder/storage'
import {
  certificateChanges,
  type DeviceCertificate,
  findSeenAt,
  isKnownCertificate,
  type Sighting,
  sightingChange,
  sightingIntervalMs,
} from './device-store.ts'

/** Records when devices were seen and what they speak, without delaying their requests. */
export interface DeviceSightings {
  /**
   * Called for each message of a connection with a client certificate; once a minute for each device it costs more than
   * one look-up in a map.
   * @param certificate the one that authenticates the device, if it is the credential
   */
  note(sighting: Sighting, certificate: X509Certificate | undefined): void
  /** Writes all pending records. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Time in which the messages of a device become one record: a client negotiates first, and then speaks its version. */
const defaultEveryMs = 2000
/** Devices whose last record is remembered; of others it is read from the database. */
const maxRemembered = 20_000
/** Devices that wait to be written; others are noted again by their next message. */
const maxWaiting = 5000
const maxPerCommit = 200

interface Waiting {
  readonly sighting: Sighting
  readonly certificate: X509Certificate | undefined
}

/** One per worker. */
export function createDeviceSightings(parts: {
  readonly db: Database
  readonly log: Logger
  readonly everyMs?: number
}): DeviceSightings {
  const { db, log, everyMs = defaultEveryMs } = parts
  /** Time of the last record of each device, in Unix milliseconds. */
  const recorded = new BoundedMap<string, number>(maxRemembered)
  let waiting = new Map<string, Waiting>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    while (writing !== undefined) await writing
    const batch = [...waiting.values()]
    waiting = new Map()
    if (batch.length === 0) return
    for (const { sighting } of batch) recorded.set(sighting.name, sighting.at)
    writing = writeSightings({ db, log }, batch, recorded)
      .catch((error: unknown) => {
        log.info({ error, devices: batch.length }, 'when devices were seen could not be stored')
        // The next message of each notes it again.
        for (const { sighting } of batch) recorded.delete(sighting.name)
      })
      .finally(() => {
        writing = undefined
      })
    await writing
  }

  return {
    note(sighting, certificate) {
      const { name, at } = sighting
      const before = recorded.get(name)
      // A clock that was set back does not hide a device until it caught up.
      if (before !== undefined && Math.abs(at - before) < sightingIntervalMs) return
      const noted = waiting.get(name)
      if (noted === undefined && waiting.size >= maxWaiting) return
      const version = sighting.version ?? noted?.sighting.version
      waiting.set(name, {
        sighting: { ...sighting, version },
        certificate: certificate ?? noted?.certificate,
      })
      timer ??= setTimeout(() => void flush(), everyMs).unref()
    },
    flush,
    close: flush,
  }
}

async function writeSightings(
  parts: { readonly db: Database; readonly log: Logger },
  batch: readonly Waiting[],
  recorded: Map<string, number>,
): Promise<void> {
  for (let from = 0; from < batch.length; from += maxPerCommit) {
    const some = batch.slice(from, from + maxPerCommit)
    const changes = (await Promise.all(some.map((each) => toChanges(parts, each, recorded)))).flat()
    if (changes.length > 0) await parts.db.commit(changes)
  }
}

async function toChanges(
  { db, log }: { readonly db: Database; readonly log: Logger },
  { sighting, certificate }: Waiting,
  recorded: Map<string, number>,
): Promise<readonly Change[]> {
  const { name, at } = sighting
  const stored = await findSeenAt(db, name)
  // Another worker may have recorded it.
  const isRecent = stored !== undefined && Math.abs(at - stored) < sightingIntervalMs
  if (isRecent) recorded.set(name, stored)
  const seen = isRecent ? [] : [sightingChange(sighting)]
  if (certificate === undefined) return seen
  try {
    return [...seen, ...(await toCertificateChanges(db, name, certificate))]
  } catch (error) {
    if (!(error instanceof PkiError)) throw error
    // TLS accepts more than RFC 5280: the device is listed without it, and others are not kept waiting.
    log.info({ error, device: name }, 'the certificate of a device cannot be read')
    return seen
  }
}

/** @throws PkiError */
async function toCertificateChanges(
  db: Database,
  name: string,
  certificate: X509Certificate,
): Promise<readonly Change[]> {
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  if (await isKnownCertificate(db, name, fingerprint)) return []
  const parsed = parseCertificate(certificate.raw)
  const registerId = await findRegisterId(db, parsed, fingerprint)
  const described = describeCertificate(parsed, fingerprint)
  return certificateChanges(name, described, { isLocal: false, registerId })
}

/** @param fingerprint SHA-256, hexadecimal; absent: it is computed */
export function describeCertificate(
  { der, issuer, serial, notBefore, notAfter }: ParsedCertificate,
  fingerprint = createHash('sha256').update(der).digest('hex'),
): DeviceCertificate {
  const hex = Buffer.from(serial).toString('hex')
  return { fingerprint, serial: hex, issuer: nameText(issuer), notBefore, notAfter }
}

/** The entry in the register of the authority of this service that issued it, if one did. */
async function findRegisterId(
  db: Database,
  parsed: ParsedCertificate,
  fingerprint: string,
): Promise<string | undefined> {
  const [issuer] = await possibleIssuers(db, parsed)
  const entry = issuer && (await findBySerial(db, issuer.issuer, parsed.serial))
  return entry?.fingerprint === fingerprint ? entry.id : undefined
}
