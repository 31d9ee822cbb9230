import { X509Certificate } from 'node:crypto'
import {
  type AccessServices,
  applyCreationRules,
  asObjectId,
  attributesForReplacement,
  type Explanation,
  findLinkedHalf,
  findLinkTarget,
  findObject,
  isBlocked,
  linkReplacement,
  type ManagedObject,
  mayCreate,
  type NewObject,
  ObjectAttributes,
  refusal,
  renewalDueAt,
  renewalSettings,
  replacementMembers,
  requireDateOrder,
  requirePermittedObject,
  requireReplaceable,
  stageReplacementPair,
} from '@warder/keys'
import type { Database } from '@warder/storage'
import { certificateObject } from '../certificate-object.ts'
import { chooseIssuer, resolveNamedIssuer } from '../issuance/issuer.ts'
import { type CertificateToKeep, stageCertificate } from '../issuance/stage-certificate.ts'
import { type CertificateRequester, findSubject } from '../issuance/subject.ts'
import { findIssuedCertificate } from '../register/register-store.ts'
import { type RecordedServices, runRecorded } from './recorded.ts'
import { renewablePage } from './renewable-store.ts'
import { readRenewable, stageRenewal } from './stage-renewal.ts'

/** Makes the object of a certificate that replaces another one and inherits its attributes and dates of use. */
function replacementMaker(
  { audit, now, objects, services }: RenewalRequester,
  before: ManagedObject,
): (certificate: CertificateToKeep) => Promise<NewObject> {
  return async ({ der, notBefore, notAfter, links }) => {
    const { owner } = before
    const made = certificateObject({ der, owner, links, notBefore, notAfter }, services.policy, now)
    const { values } = made.object.attributes
    const settled = new Set([...values.map(({ tag }) => tag), ...ofKey])
    const kept = attributesForReplacement(before.attributes).values.filter(({ tag }) => !settled.has(tag))
    const object = {
      ...made.object,
      ...replacementMembers(before),
      usageMask: before.usageMask,
      processStartAt: before.processStartAt,
      protectStopAt: before.protectStopAt,
      attributes: ObjectAttributes.of([...kept, ...values]),
    }
    requireDateOrder(object)
    const tags = (await objects.tags(before)).filter((tag) => !tag.startsWith('_'))
    const [ruled] = await applyCreationRules(services, owner, [{ ...made, object, tags }], now, 'replacement')
    const { id, algorithm } = object
    audit({ object: id, ...(algorithm !== undefined && { algorithm }) })
    return ruled ?? { ...made, object, tags }
  }
}

/** Attributes of the certified key, which the new certificate declares itself. */
const ofKey = ['CryptographicAlgorithm', 'CryptographicDomainParameters']

/** The owner of a certificate, on whose behalf it is renewed. */
interface RenewalRequester extends CertificateRequester {
  readonly services: CertificateRequester['services'] & AccessServices
}

/**
 * Stages a certificate of the same issuer for the same subject and key, valid from now on for as long.
 * @throws Refusal, Failure, PkiError
 */
async function renewCertificate(requester: RenewalRequester, object: ManagedObject): Promise<ManagedObject> {
  requireReplaceable(requester, object)
  const material = await readRenewable(requester, object)
  const subject = await findSubject(requester, object)
  const { name } = subject
  if (name === undefined) throw refusal('InvalidField', 'The subject of the certificate has no name.')
  const named = { key: undefined, certificate: findLinkTarget(object, 'CertificateLink') }
  const issuer = await chooseIssuer(requester, named, subject, { name, owner: object.owner })
  const made = await stageRenewal(requester, {
    object,
    material,
    subject,
    name,
    issuer,
    extensions: undefined,
    isSameSubject: true,
    days: undefined,
    // Without an offset it would have the dates of the old one.
    offset: 0,
    makeObject: replacementMaker(requester, object),
  })
  requester.audit({ object: object.id, details: { replacement: made.id } })
  return made
}

/**
 * Stages a new pair that replaces one whose certificate an authority of this service issued, with a certificate of the
 * same authority, for the same subject and the same period of validity.
 * @returns the new private key
 * @throws Refusal, Failure, PkiError
 */
async function renewPair(requester: RenewalRequester, object: ManagedObject): Promise<ManagedObject> {
  const certificate = await requireCertificate(requester, object)
  requireReplaceable(requester, certificate)
  const material = await readRenewable(requester, certificate)
  const before = await findSubject(requester, certificate)
  const issuer = await resolveNamedIssuer(requester, {
    key: undefined,
    certificate: findLinkTarget(certificate, 'CertificateLink'),
  })
  if (object.form.abe !== undefined)
    throw refusal('InvalidObjectType', 'Keys of attribute-based encryption cannot be certified.')
  const half = await findLinkedHalf(requester, object)
  const open = half === undefined ? undefined : await requirePermittedObject(requester, half, 'rekey')
  const made = await stageReplacementPair(requester, object, open)
  const { algorithm, privateKey, publicKey } = made
  requester.audit({
    object: object.id,
    algorithm,
    details: { replacement: privateKey.id, linked: publicKey.id },
  })
  const subject = await findSubject(requester, publicKey)
  const { validFromDate, validToDate } = new X509Certificate(material)
  const replacement = await stageCertificate(requester, {
    subject: { ...subject, publicKey: publicKey.id, privateKey: privateKey.id },
    name: before.name ?? emptyName,
    issuer,
    extensions: before.extensions,
    notBefore: requester.now,
    notAfter: requester.now + validToDate.getTime() - validFromDate.getTime(),
    replaces: certificate,
    makeObject: replacementMaker(requester, certificate),
  })
  await linkReplacement(requester, certificate, replacement)
  requester.audit({ details: { certificate: replacement.id } })
  return privateKey
}

/** DER of a name without parts. */
const emptyName = new Uint8Array([0x30, 0])

/** The certificate of the pair, issued by an authority of this service. @throws Refusal */
async function requireCertificate(
  requester: RenewalRequester,
  object: ManagedObject,
): Promise<ManagedObject> {
  const id = findLinkTarget(object, 'CertificateLink')
  const certificate = id === undefined ? undefined : await requirePermittedObject(requester, id, 'rekey')
  if (certificate?.type !== 'Certificate' || findLinkTarget(certificate, 'CertificateLink') === undefined)
    throw refusal('InvalidField', 'This pair has no certificate of an authority of this service.')
  return certificate
}

export type RenewalServices = RecordedServices & RenewalRequester['services']

interface RenewalOptions {
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

/** @returns the new object, or the reason why there is none */
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

/**
 * Whether it is a pair that is renewed together with its certificate, which a new version of the pair alone would leave
 * behind.
 */
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
