import { isName } from '@warder/base'
import { nameFromText, PkiError, type ProfileName, type RevocationReason, readNameParts } from '@warder/pki'
import { type Change, change, type Database, insertInto, query, type SqlValue } from '@warder/storage'

/** Topic of `Database.changed` for certificates that were issued. */
export const issuedTopic = 'pki_issued'

/** A certificate in the register of its issuer. Times in Unix milliseconds. */
export interface IssuedCertificate {
  /** See `registerId`. */
  readonly id: string
  readonly issuer: string
  /** Certificate of the authority that issued it. */
  readonly authorityId: string
  /** The object that contains it; undefined for the certificate of a responder. */
  readonly certificateId: string | undefined
  readonly owner: string
  /** `unknown`: it was requested with extensions of its own. */
  readonly profile: ProfileName | 'unknown'
  /** RFC 4514. */
  readonly subject: string
  /** SHA-256 of the certificate, hexadecimal. */
  readonly fingerprint: string
  readonly notBefore: number
  readonly notAfter: number
  readonly issuedAt: number
  readonly revokedAt: number | undefined
  readonly reason: RevocationReason | undefined
  readonly invalidityAt: number | undefined
  /** Time of the last revocation or release, or else of issuance. */
  readonly changedAt: number
  /** The number of the first CRL that contains this revocation. */
  readonly crlNumber: number | undefined
  readonly version: number
  /** See `toKeyId`; undefined if possession of the private key was not proved. */
  readonly keyId: string | undefined
  /** The user that it authenticates; undefined: it is no client certificate, or has no usable common name. */
  readonly clientName: string | undefined
}

/** Of a certificate in the register. @param serial the content of the INTEGER */
export function registerId(issuer: string, serial: Uint8Array): string {
  return `${issuer}.${Buffer.from(serial).toString('hex')}`
}

/** The content of the INTEGER, of an identifier of the register. */
export function toSerial({ id, issuer }: Pick<IssuedCertificate, 'id' | 'issuer'>): Buffer {
  return Buffer.from(id.slice(issuer.length + 1), 'hex')
}

interface Row {
  readonly id: string
  readonly issuer: string
  readonly authority_id: string
  readonly certificate_id: string | null
  readonly owner: string
  readonly profile: string
  readonly subject: string
  readonly fingerprint: string
  readonly not_before: number
  readonly not_after: number
  readonly issued_at: number
  readonly revoked_at: number | null
  readonly reason: string | null
  readonly invalidity_at: number | null
  readonly changed_at: number
  readonly crl_number: number | null
  readonly version: number
  readonly key_id: string | null
  readonly client_name: string | null
}

const columnNames = [
  'id',
  'issuer',
  'authority_id',
  'certificate_id',
  'owner',
  'profile',
  'subject',
  'fingerprint',
  'not_before',
  'not_after',
  'issued_at',
  'revoked_at',
  'reason',
  'invalidity_at',
  'changed_at',
  'crl_number',
  'version',
  'key_id',
  'client_name',
] as const
const columns = columnNames.join(', ')

const byId = query<[id: string], Row>(`SELECT ${columns} FROM pki_issued WHERE id = ?`)
/** Version for the cache of OCSP responses. */
export const issuedVersion = query<[id: string], { readonly version: number }>(
  'SELECT version FROM pki_issued WHERE id = ?',
)
const ofCertificate = query<[certificate: string], Row>(
  `SELECT ${columns} FROM pki_issued WHERE certificate_id = ? ORDER BY issued_at DESC LIMIT 1`,
)
interface PageRow extends Row {
  readonly successor: string | null
  /** 1: it or its private key, if that has the same owner, is renewed automatically. */
  readonly renews: number
}
/** A successor counts only until it is revoked. */
const page = query<[authority: string, end: number, id: string, latest: number, limit: number], PageRow>(
  `SELECT ${columns},
       (SELECT l.linked_id FROM object_link l JOIN pki_issued s ON s.certificate_id = l.linked_id
          WHERE l.object_id = pki_issued.certificate_id AND l.link_type = 'ReplacementObjectLink'
            AND s.revoked_at IS NULL LIMIT 1) AS successor,
       CASE WHEN EXISTS (SELECT 1 FROM object_attribute r WHERE r.object_id = pki_issued.certificate_id
            AND r.name = 'RotateAutomatic' AND r.value = 'true')
         OR EXISTS (SELECT 1 FROM object_link k JOIN object_attribute r ON r.object_id = k.linked_id
            JOIN managed_object p ON p.id = k.linked_id JOIN managed_object c ON c.id = k.object_id
          WHERE k.object_id = pki_issued.certificate_id AND k.link_type = 'PrivateKeyLink' AND p.owner = c.owner
            AND r.name = 'RotateAutomatic' AND r.value = 'true')
         THEN 1 ELSE 0 END AS renews
     FROM pki_issued
     WHERE authority_id = ? AND (not_after, id) > (?, ?) AND not_after <= ?
     ORDER BY authority_id, not_after, id LIMIT ?`,
)
const insert = insertInto<readonly SqlValue[]>('pki_issued', columnNames)
const setRevocation = query<
  [
    revokedAt: number | null,
    reason: string | null,
    invalidityAt: number | null,
    now: number,
    id: string,
    version: number,
  ],
  unknown
>(
  `UPDATE pki_issued SET revoked_at = ?, reason = ?, invalidity_at = ?, changed_at = ?, version = version + 1,
     crl_number = (SELECT i.crl_number FROM pki_issuer i WHERE i.id = pki_issued.issuer)
     WHERE id = ? AND version = ?`,
)
const raiseCrlNumber = query<[due: number, due2: number, issuer: string], unknown>(
  `UPDATE pki_issuer SET crl_number = crl_number + 1,
     crl_due_at = CASE WHEN crl_due_at > ? THEN ? ELSE crl_due_at END WHERE id = ?`,
)

export async function findIssued(db: Database, id: string): Promise<IssuedCertificate | undefined> {
  const row = await db.get(byId, [id])
  return row === undefined ? undefined : toIssued(row)
}

/** The newest entry about the object with this identifier, because identifiers of objects can be reused. */
export async function findIssuedCertificate(
  db: Database,
  certificateId: string,
): Promise<IssuedCertificate | undefined> {
  const row = await db.get(ofCertificate, [certificateId])
  return row === undefined ? undefined : toIssued(row)
}

export interface IssuedPage {
  /** Place of the last entry of the page before. */
  readonly after: { readonly notAfter: number; readonly id: string }
  /** Entries that expire at this time at the latest. */
  readonly endsBy: number
  readonly limit: number
}

/** An entry and its successor. */
export interface ListedEntry extends IssuedCertificate {
  /** Identifier of the certificate that replaced it, unless that one was revoked. */
  readonly successor: string | undefined
  /** Whether it is renewed automatically, with its key or with a new one. */
  readonly renews: boolean
}

/** Certificates that an authority issued, ordered by expiry. */
export async function listIssued(
  db: Database,
  authorityId: string,
  { after, endsBy, limit }: IssuedPage,
): Promise<readonly ListedEntry[]> {
  const rows = await db.all(page, [authorityId, after.notAfter, after.id, endsBy, limit])
  return rows.map((row) => ({
    ...toIssued(row),
    successor: row.successor ?? undefined,
    renews: row.renews === 1,
  }))
}

/** @throws UniqueViolation by the commit, if the issuer has used the serial number before */
export function insertIssuedChange(issued: IssuedCertificate): Change {
  return change(
    insert,
    [
      issued.id,
      issued.issuer,
      issued.authorityId,
      issued.certificateId ?? null,
      issued.owner,
      issued.profile,
      issued.subject,
      issued.fingerprint,
      issued.notBefore,
      issued.notAfter,
      issued.issuedAt,
      issued.revokedAt ?? null,
      issued.reason ?? null,
      issued.invalidityAt ?? null,
      issued.changedAt,
      issued.crlNumber ?? null,
      issued.version,
      issued.keyId ?? null,
      issued.clientName ?? null,
    ],
    1,
  )
}

/**
 * Changes that revoke or release a certificate: the number of the CRL rises in the same commit, and the CRL is due.
 * Guarded by the version that was read.
 */
export function revocationChanges(
  db: Database,
  issued: IssuedCertificate,
  to: Pick<IssuedCertificate, 'revokedAt' | 'reason' | 'invalidityAt'>,
  now: number,
): Change[] {
  const { revokedAt, reason, invalidityAt } = to
  return [
    change(raiseCrlNumber, [now, now, issued.issuer], 1),
    change(
      setRevocation,
      [revokedAt ?? null, reason ?? null, invalidityAt ?? null, now, issued.id, issued.version],
      1,
    ),
    db.changed(issuedTopic, issued.id),
  ]
}

const clientsPage = query<[after: string, limit: number], { readonly id: string; readonly subject: string }>(
  `SELECT id, subject FROM pki_issued WHERE id > ? AND profile = 'client' AND client_name IS NULL
     ORDER BY id LIMIT ?`,
)
const setClientName = query<[name: string, id: string], unknown>(
  'UPDATE pki_issued SET client_name = ? WHERE id = ? AND client_name IS NULL',
)
const rowsPerCommit = 500

/** Fills `client_name` of client certificates that earlier versions registered, from their subjects. */
export async function fillClientNames(db: Database): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly { readonly id: string; readonly subject: string }[] = await db.all(clientsPage, [
      after,
      rowsPerCommit,
    ])
    const changes = rows.flatMap(({ id, subject }) => {
      const name = findCommonName(subject)
      return name === undefined ? [] : [change(setClientName, [name, id])]
    })
    if (changes.length > 0) await db.commit(changes)
    after = rows.length < rowsPerCommit ? undefined : rows.at(-1)?.id
  }
}

/** The one common name of a subject, if it can be that of a user. @param subject RFC 4514 */
function findCommonName(subject: string): string | undefined {
  try {
    const names = readNameParts(nameFromText(subject)).filter(([part]) => part === 'CN')
    const [, name] = names[0] ?? []
    return names.length === 1 && name !== undefined && isName(name) && name !== '*' ? name : undefined
  } catch (error) {
    if (error instanceof PkiError) return undefined
    throw error
  }
}

function toIssued(row: Row): IssuedCertificate {
  return {
    id: row.id,
    issuer: row.issuer,
    authorityId: row.authority_id,
    certificateId: row.certificate_id ?? undefined,
    owner: row.owner,
    profile: row.profile as IssuedCertificate['profile'],
    subject: row.subject,
    fingerprint: row.fingerprint,
    notBefore: row.not_before,
    notAfter: row.not_after,
    issuedAt: row.issued_at,
    revokedAt: row.revoked_at ?? undefined,
    reason: (row.reason ?? undefined) as IssuedCertificate['reason'],
    invalidityAt: row.invalidity_at ?? undefined,
    changedAt: row.changed_at,
    crlNumber: row.crl_number ?? undefined,
    version: row.version,
    keyId: row.key_id ?? undefined,
    clientName: row.client_name ?? undefined,
  }
}
