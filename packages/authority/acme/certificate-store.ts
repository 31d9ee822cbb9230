import { parseCertificate, readKeyIdentifier } from '@warder/pki'
import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import type { StoredAuthority } from '../register/authority-store.ts'
import { registerId } from '../register/register-store.ts'

/** A certificate that was issued to an account. */
interface AcmeCertificate {
  readonly id: string
  readonly accountId: string
  readonly authorityId: string
  /** Its entry in the register of the authority. */
  readonly registerId: string
  readonly der: Uint8Array
  /** Unix milliseconds. */
  readonly notAfter: number
}

interface Row {
  readonly id: string
  readonly account_id: string
  readonly authority_id: string
  readonly register_id: string
  readonly der: Uint8Array
  readonly not_after: number
}

const columnNames = ['id', 'account_id', 'authority_id', 'register_id', 'der', 'not_after'] as const
const columns = columnNames.join(', ')
const byId = query<[id: string, account: string], Row>(
  `SELECT ${columns} FROM acme_certificate WHERE id = ? AND account_id = ?`,
)
const ofRegister = query<[register: string], Row>(
  `SELECT ${columns} FROM acme_certificate WHERE register_id = ?`,
)
const insert = insertInto<[string, string, string, string, Uint8Array, number]>(
  'acme_certificate',
  columnNames,
)
const sweep = query<[now: number], unknown>('DELETE FROM acme_certificate WHERE not_after <= ?')

export async function findCertificate(
  db: Database,
  id: string,
  accountId: string,
): Promise<AcmeCertificate | undefined> {
  const row = await db.get(byId, [id, accountId])
  return row && toCertificate(row)
}

export async function findByRegister(db: Database, registerId: string): Promise<AcmeCertificate | undefined> {
  const row = await db.get(ofRegister, [registerId])
  return row && toCertificate(row)
}

export function insertCertificate(certificate: AcmeCertificate): Change {
  const { id, accountId, authorityId, registerId, der, notAfter } = certificate
  return change(insert, [id, accountId, authorityId, registerId, der, notAfter], 1)
}

/** Deletes expired certificates here; the register keeps them. */
export function sweepCertificates(now: number): Change {
  return change(sweep, [now])
}

function toCertificate(row: Row): AcmeCertificate {
  return {
    id: row.id,
    accountId: row.account_id,
    authorityId: row.authority_id,
    registerId: row.register_id,
    der: row.der,
    notAfter: row.not_after,
  }
}

/**
 * The register entry that a certificate identifier names (RFC 9773 §4.1): the key identifier of the issuer and the
 * serial number, each in base64url.
 * @returns undefined for an invalid identifier, or one of another issuer
 */
export function registerEntryNamed(authority: StoredAuthority, text: string): string | undefined {
  const [issuer, serial, more] = text.split('.').map(strictBytes)
  if (issuer === undefined || serial === undefined || more !== undefined) return undefined
  const own = readKeyIdentifier(parseCertificate(authority.certificate).extensions)
  if (own === undefined || Buffer.compare(own, issuer) !== 0 || serial.length === 0) return undefined
  return registerId(authority.issuer, serial)
}

function strictBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
