import { failure } from '@warder/base'
import { type ManagedObject, stateAt, transition, type UnitOfWork } from '@warder/keys'
import { parseCertificate, type RevocationReason } from '@warder/pki'
import type { Database } from '@warder/storage'
import { markCompromisedChange, toKeyId } from './compromised-key-store.ts'
import { type IssuedCertificate, revocationChanges } from './register/register-store.ts'

export interface Revocation {
  readonly reason: RevocationReason
  /** Time since which the key is not trusted. Unix milliseconds. */
  readonly invalidityAt?: number | undefined
}

const compromises: ReadonlySet<RevocationReason> = new Set(['keyCompromise', 'cACompromise', 'aACompromise'])

/** KMIP names of the reasons (KMIP 2.1 §11.50). */
const kmipReasons: Partial<Readonly<Record<RevocationReason, string>>> = {
  unspecified: 'Unspecified',
  keyCompromise: 'KeyCompromise',
  cACompromise: 'CACompromise',
  affiliationChanged: 'AffiliationChanged',
  superseded: 'Superseded',
  cessationOfOperation: 'CessationOfOperation',
  privilegeWithdrawn: 'PrivilegeWithdrawn',
}

/**
 * Stages the revocation of a certificate: its entry in the register, the number of the next CRL, and its object if
 * there is one. A compromised key is not certified again. A certificate on hold can be revoked permanently; its
 * revocation date stays that of the hold (RFC 5280 §5.3.1).
 * @throws Failure conflict for a certificate that is revoked already, bad_request
 */
export function revoke(
  db: Database,
  objects: UnitOfWork,
  {
    issued,
    object,
    der,
  }: {
    readonly issued: IssuedCertificate
    readonly object: ManagedObject | undefined
    /** undefined: the certificate itself is no longer stored. */
    readonly der: Uint8Array | undefined
  },
  { reason, invalidityAt }: Revocation,
  now: number,
): void {
  if (reason === 'removeFromCRL')
    throw failure('bad_request', 'removeFromCRL is not a reason: release the certificate from hold instead.')
  const held = issued.reason === 'certificateHold'
  if (issued.revokedAt !== undefined && !held)
    throw failure('conflict', 'The certificate is already revoked.')
  if (held && reason === 'certificateHold') throw failure('conflict', 'The certificate is already on hold.')
  if (invalidityAt !== undefined && invalidityAt > now)
    throw failure('bad_request', 'The invalidity date is in the future.')
  const revokedAt = issued.revokedAt ?? now
  objects.also(...revocationChanges(db, issued, { revokedAt, reason, invalidityAt }, now))
  if (compromises.has(reason)) {
    const keyId = issued.keyId ?? (der && toKeyId(parseCertificate(der).spki))
    const owner = issued.keyId === undefined ? issued.owner : undefined
    if (keyId !== undefined) objects.also(markCompromisedChange(keyId, owner, now))
  }
  // A certificate on hold may come back: its object stays as it is.
  if (object !== undefined && reason !== 'certificateHold') endObject(objects, object, reason, now)
}

/** Stages that a certificate is on hold no longer. @throws Failure conflict for one that is not on hold */
export function release(db: Database, objects: UnitOfWork, issued: IssuedCertificate, now: number): void {
  if (issued.reason !== 'certificateHold')
    throw failure('conflict', 'The certificate is not on hold, and only a hold can be lifted.')
  const none = { revokedAt: undefined, reason: undefined, invalidityAt: undefined }
  objects.also(...revocationChanges(db, issued, none, now))
}

function endObject(objects: UnitOfWork, object: ManagedObject, reason: RevocationReason, now: number): void {
  const state = stateAt(object, now)
  const event = compromises.has(reason) ? 'compromise' : 'deactivate'
  const possible =
    event === 'compromise' ? state !== 'Compromised' && state !== 'Destroyed_Compromised' : state === 'Active'
  if (!possible) return
  const cycle = transition({ ...object, state }, event, now)
  objects.update(object, {
    state: cycle.state,
    activationAt: cycle.activationAt,
    deactivationAt: cycle.deactivationAt,
    compromisedAt: cycle.compromisedAt,
    revocationReason: kmipReasons[reason] ?? 'Unspecified',
  })
}
