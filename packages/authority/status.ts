import { createHash } from 'node:crypto'
import type { ManagedObject } from '@warder/keys'
import type { Database } from '@warder/storage'
import {
  findIssued,
  findIssuedCertificate,
  type IssuedCertificate,
  registerId,
} from './register/register-store.ts'

/** Status of a certificate that was issued here. */
export type CertificateStatus = 'good' | 'hold' | 'revoked'

export function toStatus({
  revokedAt,
  reason,
}: Pick<IssuedCertificate, 'revokedAt' | 'reason'>): CertificateStatus {
  if (revokedAt === undefined) return 'good'
  return reason === 'certificateHold' ? 'hold' : 'revoked'
}

/**
 * The entry of a certificate that was issued by this name and key; undefined: the issuer is not of this service, or
 * never issued it.
 * @param issuer see `issuerId`
 * @param serial the content of the INTEGER
 */
export function findBySerial(
  db: Database,
  issuer: string,
  serial: Uint8Array,
): Promise<IssuedCertificate | undefined> {
  return findIssued(db, registerId(issuer, serial))
}

/**
 * Finds the register entry of the certificate that this object contains. A user may have stored another certificate, or
 * a copy of the same one, under the identifier of a deleted object, so owner, time and fingerprint must all match.
 */
export async function findRegisterEntry(
  db: Database,
  object: ManagedObject,
  der: Uint8Array,
): Promise<IssuedCertificate | undefined> {
  const issued = await findIssuedCertificate(db, object.id)
  if (issued === undefined || issued.owner !== object.owner || issued.issuedAt !== object.createdAt)
    return undefined
  return issued.fingerprint === createHash('sha256').update(der).digest('hex') ? issued : undefined
}
