import {
  asObjectId,
  type Explanation,
  findLinkTarget,
  findObject,
  isBlocked,
  type ManagedObject,
  mayCreate,
  refusal,
  renewalDueAt,
  renewalSettings,
  requirePermittedObject,
} from '@warder/keys'
import type { Database } from '@warder/storage'
import { findIssuedCertificate } from '../register/register-store.ts'
import { type RecordedServices, runRecorded } from './recorded.ts'
import { renewCertificate } from './renew-certificate.ts'
import { renewPair } from './renew-pair.ts'
import { renewablePage } from './renewable-store.ts'
import type { RenewalRequester } from './replacement-object.ts'

export type RenewalServices = RecordedServices & RenewalRequester['services']

export interface RenewalOptions {
  readonly services: RenewalServices
  /** Unix milliseconds. */
  readonly now: number
}

const pageSize = 500

/**
 * Renews due certificates, and pairs together with theirs, on behalf of their owners, whose rights on the issuer are
 * checked as usual. A failed renewal is logged and tried again at the next run.
 */
export async function renewDue(options: RenewalOptions): Promise<void> {
  const { db } = options.services
  for (let after = ''; ; ) {
    const page = await renewablePage(db, after, pageSize)
    for (const id of page) {
      const object = await findObject(db, id)
      if (object !== undefined && (await isDue(db, object, options.now)))
        await renewOne(options.services, object)
    }
    if (page.length < pageSize) return
    after = page.at(-1) ?? ''
  }
}

async function renewOne(services: RenewalServices, object: ManagedObject): Promise<void> {
  const { db, log, metrics } = services
  const { id, deactivationAt, owner } = object
  const renewed = (await isBlocked(db, owner)) ? undefined : await renewForOwner(services, object)
  const isRenewed = typeof renewed === 'string'
  metrics.count('certificate_renewals_total', { outcome: isRenewed ? 'renewed' : 'failed' })
  if (isRenewed) {
    log.info({ object: id, replacement: renewed }, 'a certificate was renewed')
    return
  }
  const detail = renewed === undefined ? 'its owner is blocked' : `${renewed.reason} ${renewed.message}`
  log.warn(
    { object: id, detail, until: deactivationAt },
    'a certificate cannot be renewed; the renewal will be repeated',
  )
}

/** @returns the new object, or why there is none */
function renewForOwner(
  services: RenewalServices,
  { id, owner, type }: ManagedObject,
): Promise<string | Explanation> {
  const isPair = type === 'PrivateKey'
  return runRecorded(services, {
    operation: isPair ? 'kmip.ReKeyKeyPair' : 'kmip.ReCertify',
    principal: owner,
    async act(objects, now, audit) {
      const requester: RenewalRequester = { services, objects, principal: { name: owner }, now, audit }
      audit({ object: id })
      const object = await requirePermittedObject(requester, id, 'rekey')
      if (object.algorithm !== undefined) audit({ algorithm: object.algorithm })
      if (!(await mayCreate(services.db, services.roles, owner)))
        throw refusal('PermissionDenied', 'The caller may not create objects.')
      const made = await (isPair ? renewPair(requester, object) : renewCertificate(requester, object))
      return made.id
    },
  })
}

async function isDue(db: Database, object: ManagedObject, now: number): Promise<boolean> {
  const certificate = await findCertificate(db, object)
  if (certificate?.deactivationAt === undefined || certificate.deactivationAt <= now) return false
  const due = renewalDueAt(object, certificate)
  if (due === undefined || due > now) return false
  // A certificate on hold is not renewed: the issuing authority decides about it.
  return (await findIssuedCertificate(db, certificate.id))?.revokedAt === undefined
}

/** Is it a pair that is renewed together with its certificate? A new version of the pair alone would leave that behind. */
export async function isRenewedWithCertificate(db: Database, object: ManagedObject): Promise<boolean> {
  if (object.type !== 'PrivateKey' || !renewalSettings(object).automatic) return false
  return (await findCertificate(db, object)) !== undefined
}

/**
 * The certificate itself, or that of a pair, issued by an authority of this service. undefined: there is none, or it is
 * renewed together with its pair.
 */
async function findCertificate(db: Database, object: ManagedObject): Promise<ManagedObject | undefined> {
  const linked = async (from: ManagedObject, kind: string) => {
    const id = findLinkTarget(from, kind)
    const known = id === undefined ? undefined : asObjectId(id)
    const found = known === undefined ? undefined : await findObject(db, known)
    return found?.owner === object.owner ? found : undefined
  }
  if (object.type === 'Certificate') {
    const pair = await linked(object, 'PrivateKeyLink')
    return pair !== undefined && renewalSettings(pair).automatic ? undefined : object
  }
  const certificate = await linked(object, 'CertificateLink')
  const isCertified =
    certificate?.type === 'Certificate' && findLinkTarget(certificate, 'CertificateLink') !== undefined
  return isCertified ? certificate : undefined
}
