import { type Change, change, type Database, query, type SqlValue } from '@warder/storage'

// `kmip_device` has a row for each user that connected with a client certificate, or has one of the local authority.
// `kmip_device_certificate` has the certificates that they presented, and those of the local authority. Certificates of
// authorities of this service are in their register (`pki_issued.client_name`); they are not copied.

/** Creates the tables. Times in Unix milliseconds; `seen_at` 0: never. */
export const deviceStatements: readonly string[] = [
  `CREATE TABLE kmip_device (
    name TEXT NOT NULL PRIMARY KEY, seen_at BIGINT NOT NULL, version TEXT, encoding TEXT)`,
  'CREATE INDEX kmip_device_by_seen ON kmip_device (seen_at)',
  `CREATE TABLE kmip_device_certificate (
    name TEXT NOT NULL, fingerprint TEXT NOT NULL, serial TEXT NOT NULL, issuer TEXT NOT NULL,
    not_before BIGINT NOT NULL, not_after BIGINT NOT NULL, is_local BIGINT NOT NULL, register_id TEXT,
    revoked_at BIGINT, reason TEXT, PRIMARY KEY (name, fingerprint))`,
  'CREATE INDEX kmip_device_certificate_by_end ON kmip_device_certificate (name, not_after)',
  'CREATE INDEX kmip_device_certificate_expired ON kmip_device_certificate (not_after)',
  'CREATE INDEX kmip_device_certificate_local ON kmip_device_certificate (serial) WHERE is_local = 1',
  'ALTER TABLE pki_issued ADD COLUMN client_name TEXT',
  `CREATE INDEX pki_issued_by_client ON pki_issued (issuer, client_name, not_after)
     WHERE client_name IS NOT NULL`,
  // Registered before this column, or by a node of an earlier version: see `fillClientNames`.
  "CREATE INDEX pki_issued_unnamed ON pki_issued (id) WHERE profile = 'client' AND client_name IS NULL",
]

/** A certificate that a device presented, or that the local authority issued. Times in Unix milliseconds. */
export interface DeviceCertificate {
  /** SHA-256, hexadecimal. */
  readonly fingerprint: string
  /** Content of the INTEGER, hexadecimal. */
  readonly serial: string
  /** RFC 4514. */
  readonly issuer: string
  readonly notBefore: number
  readonly notAfter: number
}

/** A device that sent a message. */
export interface Sighting {
  readonly name: string
  /** Unix milliseconds. */
  readonly at: number
  /** undefined: it only negotiated the version. */
  readonly version: string | undefined
  readonly encoding: string
}

const seenAt = query<[name: string], { readonly seen_at: number }>(
  'SELECT seen_at FROM kmip_device WHERE name = ?',
)
const known = query<[name: string, fingerprint: string], { readonly is_local: number }>(
  'SELECT is_local FROM kmip_device_certificate WHERE name = ? AND fingerprint = ?',
)
const see = query<[string, number, string | null, string, interval: number, interval: number], unknown>(
  `INSERT INTO kmip_device (name, seen_at, version, encoding) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, encoding = excluded.encoding,
       version = COALESCE(excluded.version, kmip_device.version)
     WHERE kmip_device.seen_at <= excluded.seen_at - ? OR kmip_device.seen_at >= excluded.seen_at + ?`,
)
const add = query<[name: string], unknown>(
  'INSERT INTO kmip_device (name, seen_at) VALUES (?, 0) ON CONFLICT (name) DO NOTHING',
)
const insert = query<
  [string, string, string, string, number, number, isLocal: number, registerId: string | null],
  unknown
>(
  `INSERT INTO kmip_device_certificate
     (name, fingerprint, serial, issuer, not_before, not_after, is_local, register_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (name, fingerprint) DO UPDATE SET is_local = 1 WHERE excluded.is_local = 1`,
)
/** Short-lived certificates of other authorities can be many: the ones that end last stay. */
const maxPresented = 100
const prune = query<[name: string, name: string], unknown>(
  `DELETE FROM kmip_device_certificate WHERE name = ? AND is_local = 0 AND (not_after, fingerprint) <= (
     SELECT k.not_after, k.fingerprint FROM kmip_device_certificate k WHERE k.name = ? AND k.is_local = 0
       ORDER BY k.not_after DESC, k.fingerprint DESC LIMIT 1 OFFSET ${maxPresented})`,
)
const revoke = query<[revokedAt: number, reason: string | null, serial: string], unknown>(
  `UPDATE kmip_device_certificate SET revoked_at = ?, reason = ?
     WHERE serial = ? AND is_local = 1 AND revoked_at IS NULL`,
)
const forgetCertificates = query<[before: number], unknown>(
  'DELETE FROM kmip_device_certificate WHERE not_after < ?',
)
const forgetDevices = query<[before: number], unknown>(
  `DELETE FROM kmip_device WHERE seen_at < ?
     AND NOT EXISTS (SELECT 1 FROM kmip_device_certificate c WHERE c.name = kmip_device.name)`,
)

/** Milliseconds between two writes of a device, over all workers and nodes. */
export const sightingIntervalMs = 60_000

/** When a device was seen last, in Unix milliseconds; undefined: it is not known. */
export async function findSeenAt(db: Database, name: string): Promise<number | undefined> {
  return (await db.get(seenAt, [name]))?.seen_at
}

/** Writes nothing if another worker did so less than `sightingIntervalMs` before. */
export function sightingChange({ name, at, version, encoding }: Sighting): Change {
  return change(see, [name, at, version ?? null, encoding, sightingIntervalMs, sightingIntervalMs])
}

/** @param asLocal true: only as one that the local authority issued */
export async function isKnownCertificate(
  db: Database,
  name: string,
  fingerprint: string,
  asLocal = false,
): Promise<boolean> {
  const row = await db.get(known, [name, fingerprint])
  return row !== undefined && (!asLocal || row.is_local === 1)
}

/**
 * Changes that add a certificate, and its device if there is none. Of those that a device presented `maxPresented` stay.
 * @param from the local authority, or the id in the register of an authority of this service, if it is in one
 */
export function certificateChanges(
  name: string,
  { fingerprint, serial, issuer, notBefore, notAfter }: DeviceCertificate,
  from: { readonly isLocal: boolean; readonly registerId?: string | undefined },
): readonly Change[] {
  const { isLocal, registerId } = from
  return [
    change(add, [name]),
    change(insert, [
      ...([name, fingerprint, serial, issuer, notBefore, notAfter] as const),
      isLocal ? 1 : 0,
      registerId ?? null,
    ]),
    ...(isLocal ? [] : [change(prune, [name, name])]),
  ]
}

/** Marks a certificate of the local authority as revoked, if it is not. @param serial as in `DeviceCertificate` */
export function localRevocationChange(serial: string, revokedAt: number, reason: string | undefined): Change {
  return change(revoke, [revokedAt, reason ?? null, serial])
}

/** Devices and certificates are forgotten this long after their last use and their end. */
export const keptMs = 400 * 86_400_000

/** Deletes certificates that expired long ago, and devices without any that did not connect since. */
export function sweepDevices(now: number): readonly Change[] {
  return [change(forgetCertificates, [now - keptMs]), change(forgetDevices, [now - keptMs])]
}

/** A device on a page, without its certificates. Times in Unix milliseconds. */
export interface DeviceRow {
  readonly name: string
  /** undefined: it never connected, or longer ago than is kept. */
  readonly seenAt: number | undefined
  readonly version: string | undefined
  readonly encoding: string | undefined
  /** End of its certificate that ends last and is not revoked. */
  readonly endsAt: number | undefined
}

interface ListedRow {
  readonly name: string
  readonly seen_at: number
  readonly version: string | null
  readonly encoding: string | null
  readonly ends_at: number | null
}

const devicesPage = query<[from: string, limit: number], ListedRow>(
  `SELECT d.name, d.seen_at, d.version, d.encoding,
       (SELECT MAX(c.not_after) FROM kmip_device_certificate c LEFT JOIN pki_issued p ON p.id = c.register_id
          WHERE c.name = d.name AND c.revoked_at IS NULL AND p.revoked_at IS NULL) AS ends_at
     FROM kmip_device d WHERE d.name >= ? ORDER BY d.name LIMIT ?`,
)
const clientsPage = query<[issuer: string, from: string, limit: number], Pick<ListedRow, 'name' | 'ends_at'>>(
  `SELECT client_name AS name, MAX(CASE WHEN revoked_at IS NULL THEN not_after END) AS ends_at
     FROM pki_issued WHERE issuer = ? AND client_name >= ? GROUP BY client_name ORDER BY client_name LIMIT ?`,
)

const order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/**
 * Devices in the order of names (by their UTF-8 bytes): of the table, and of the registers of issuers.
 * @param from the first name, inclusive
 * @param issuers authorities of this service whose client certificates are accepted, see `issuerId`
 * @returns with fewer than `limit` rows: all that there are
 */
export async function listDevices(
  db: Database,
  issuers: readonly string[],
  from: string,
  limit: number,
): Promise<readonly DeviceRow[]> {
  const found = new Map<string, DeviceRow>()
  // Of a source with more rows than were read, names after the last one are unknown.
  let last: string | undefined
  const merge = (rows: readonly (Partial<ListedRow> & Pick<ListedRow, 'name' | 'ends_at'>)[]): void => {
    const end = rows.length < limit ? undefined : rows.at(-1)?.name
    if (end !== undefined && (last === undefined || order(end, last) < 0)) last = end
    for (const row of rows) found.set(row.name, combine(found.get(row.name), row))
  }
  merge(await db.all(devicesPage, [from, limit]))
  for (const issuer of issuers) merge(await db.all(clientsPage, [issuer, from, limit]))
  const rows = [...found.values()].sort((a, b) => order(a.name, b.name))
  const end = last
  return (end === undefined ? rows : rows.filter(({ name }) => order(name, end) <= 0)).slice(0, limit)
}

function combine(
  before: DeviceRow | undefined,
  row: Partial<ListedRow> & Pick<ListedRow, 'name' | 'ends_at'>,
): DeviceRow {
  const ends = [before?.endsAt, row.ends_at ?? undefined].filter((end) => end !== undefined)
  return {
    name: row.name,
    seenAt: before?.seenAt ?? (row.seen_at || undefined),
    version: before?.version ?? row.version ?? undefined,
    encoding: before?.encoding ?? row.encoding ?? undefined,
    endsAt: ends.length === 0 ? undefined : Math.max(...ends),
  }
}

/** A certificate of a device, with its revocation. Times in Unix milliseconds. */
export interface ListedCertificate extends Omit<DeviceCertificate, 'issuer'> {
  /** RFC 4514; undefined: that of `authority`. */
  readonly issuer: string | undefined
  readonly isLocal: boolean
  readonly revokedAt: number | undefined
  readonly reason: string | undefined
  /** In a register of this service: the certificate's object, and its authority. */
  readonly certificateId: string | undefined
  readonly authority: string | undefined
}

interface CertificateRow {
  readonly name: string
  readonly fingerprint: string
  readonly serial: string
  readonly issuer: string | null
  readonly not_before: number
  readonly not_after: number
  readonly is_local: number
  readonly revoked_at: number | null
  readonly reason: string | null
  readonly certificate_id: string | null
  readonly authority_id: string | null
}

/** Names of one statement. */
const perStatement = 100
const marks = Array.from({ length: perStatement }, () => '?').join(', ')
const presented = query<SqlValue[], CertificateRow>(
  `SELECT * FROM (
     SELECT c.name, c.fingerprint, c.serial, c.issuer, c.not_before, c.not_after, c.is_local,
         COALESCE(c.revoked_at, p.revoked_at) AS revoked_at, COALESCE(c.reason, p.reason) AS reason,
         p.certificate_id, p.authority_id,
         ROW_NUMBER() OVER (PARTITION BY c.name ORDER BY c.not_after DESC, c.fingerprint) AS place
       FROM kmip_device_certificate c LEFT JOIN pki_issued p ON p.id = c.register_id
       WHERE c.name IN (${marks})) page
     WHERE place <= ?`,
)
const registered = query<SqlValue[], Omit<CertificateRow, 'serial' | 'issuer'> & { readonly id: string }>(
  `SELECT * FROM (
     SELECT id, client_name AS name, fingerprint, not_before, not_after, 0 AS is_local, revoked_at, reason,
         certificate_id, authority_id,
         ROW_NUMBER() OVER (PARTITION BY client_name ORDER BY not_after DESC, fingerprint) AS place
       FROM pki_issued WHERE issuer = ? AND client_name IN (${marks})) page
     WHERE place <= ?`,
)

/**
 * The certificates of devices, those that end last first.
 * @param max of each device
 */
export async function listDeviceCertificates(
  db: Database,
  issuers: readonly string[],
  names: readonly string[],
  max: number,
): Promise<ReadonlyMap<string, readonly ListedCertificate[]>> {
  const found = new Map<string, Map<string, ListedCertificate>>(names.map((name) => [name, new Map()]))
  const put = (row: CertificateRow): void => {
    const certificates = found.get(row.name)
    if (certificates?.has(row.fingerprint) === false) certificates.set(row.fingerprint, toListed(row))
  }
  for (const some of inChunks(names)) {
    for (const row of await db.all(presented, [...some, max])) put(row)
    for (const issuer of issuers)
      for (const row of await db.all(registered, [issuer, ...some, max]))
        put({ ...row, serial: row.id.slice(issuer.length + 1), issuer: null })
  }
  const sort = (certificates: ReadonlyMap<string, ListedCertificate>) =>
    [...certificates.values()]
      .sort((a, b) => b.notAfter - a.notAfter || order(a.fingerprint, b.fingerprint))
      .slice(0, max)
  return new Map([...found].map(([name, certificates]) => [name, sort(certificates)]))
}

/** Every chunk has `perStatement` names: no device has an empty one. */
function inChunks(names: readonly string[]): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = []
  for (let from = 0; from < names.length; from += perStatement) {
    const some = names.slice(from, from + perStatement)
    chunks.push([...some, ...Array.from({ length: perStatement - some.length }, () => '')])
  }
  return chunks
}

function toListed(row: CertificateRow): ListedCertificate {
  return {
    fingerprint: row.fingerprint,
    serial: row.serial,
    issuer: row.issuer ?? undefined,
    notBefore: row.not_before,
    notAfter: row.not_after,
    isLocal: row.is_local === 1,
    revokedAt: row.revoked_at ?? undefined,
    reason: row.reason ?? undefined,
    certificateId: row.certificate_id ?? undefined,
    authority: row.authority_id ?? undefined,
  }
}

/** Keys that are counted of each device. */
export const maxCounted = 1000
const keyCounts = query<SqlValue[], { readonly name: string; readonly count: number }>(
  `SELECT page.name, (SELECT COUNT(*) FROM (SELECT 1 AS one FROM managed_object o
       WHERE o.owner = page.name AND o.generation = 0 LIMIT ${maxCounted}) owned) AS count
     FROM (${Array.from({ length: perStatement }, () => 'SELECT CAST(? AS TEXT) AS name').join(' UNION ALL ')}) page`,
)

/** How many objects each user owns, counted to `maxCounted`; versions of a key count once. */
export async function countOwnedKeys(
  db: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const some of inChunks(names))
    for (const { name, count } of await db.all(keyCounts, [...some])) counts.set(name, count)
  return counts
}

const issuerRow = query<[id: string], { readonly id: string }>('SELECT id FROM pki_issuer WHERE id = ?')

/** Whether an authority of this service has this name and key. @param issuer see `issuerId` */
export async function isOwnIssuer(db: Database, issuer: string): Promise<boolean> {
  return (await db.get(issuerRow, [issuer])) !== undefined
}
