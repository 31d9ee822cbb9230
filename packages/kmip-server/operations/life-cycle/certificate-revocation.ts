import { findRegisterEntry, release, revoke, toStatus } from '@warder/authority'
import type { ManagedObject, UnitOfWork } from '@warder/keys'
import type { RevocationReason } from '@warder/pki'
import type { Database } from '@warder/storage'

/** The reasons of RFC 5280 §5.3.1 for those of KMIP and its extensions. */
const reasons: Readonly<Record<string, RevocationReason>> = {
  Unspecified: 'unspecified',
  KeyCompromise: 'keyCompromise',
  CACompromise: 'cACompromise',
  AffiliationChanged: 'affiliationChanged',
  Superseded: 'superseded',
  CessationOfOperation: 'cessationOfOperation',
  PrivilegeWithdrawn: 'privilegeWithdrawn',
  CertificateHold: 'certificateHold',
  RemoveFromCRL: 'removeFromCRL',
  AACompromise: 'aACompromise',
}

/**
 * Stages the revocation of a certificate in the register of its issuer.
 * @param occurred when the key was compromised, Unix seconds
 * @param requireAuthority throws unless the caller may revoke certificates issued by the authority with this
 *   certificate
 * @returns whether the object itself must be revoked, too
 * @throws Failure conflict, bad_request
 */
export async function registerRevocation(
  {
    object,
    objects,
    now,
    db,
    requireAuthority,
  }: {
    readonly object: ManagedObject
    readonly objects: UnitOfWork
    readonly now: number
    readonly db: Database
    readonly requireAuthority: (authorityId: string) => Promise<unknown>
  },
  code: string,
  occurred: number | undefined,
): Promise<'object ends' | 'object stays'> {
  const der = await objects.material(object)
  const issued = der === undefined ? undefined : await findRegisterEntry(db, object, der)
  // For a revoked certificate, the life cycle of its object determines what is possible.
  if (issued === undefined || toStatus(issued) === 'revoked') return 'object ends'
  const reason = reasons[code] ?? 'unspecified'
  if (reason === 'removeFromCRL') {
    await requireAuthority(issued.authorityId)
    release(db, objects, issued, now)
    return 'object stays'
  }
  const invalidityAt = occurred === undefined || occurred === 0 ? undefined : Math.min(occurred * 1000, now)
  revoke(db, objects, { issued, object: undefined, der }, { reason, invalidityAt }, now)
  return reason === 'certificateHold' ? 'object stays' : 'object ends'
}
