import { createPublicKey, X509Certificate } from 'node:crypto'
import { linkReplacement, type ManagedObject, refusal, stateAt } from '@warder/keys'
import { extensionIdentifiers, parseCertificate } from '@warder/pki'
import { findAuthority } from '../authority.ts'
import type { ChosenIssuer } from '../issuance/issuer.ts'
import { type CertificateOrder, stageCertificate } from '../issuance/stage-certificate.ts'
import type { CertificateRequester } from '../issuance/subject.ts'
import { findRegisterEntry, toStatus } from '../status.ts'

const day = 86_400_000

/** A certificate in place of `object`. */
export interface RenewalOrder extends Pick<CertificateOrder, 'subject' | 'name' | 'issuer' | 'makeObject'> {
  readonly object: ManagedObject
  readonly material: Uint8Array
  /** undefined: those of the subject, except extensions that another issuer sets itself. */
  readonly extensions: CertificateOrder['extensions'] | undefined
  /** true: the subject is the one of the certificate. */
  readonly isSameSubject: boolean
  /** Requested days of validity. */
  readonly days: number | undefined
  /** Seconds from now until it becomes valid. */
  readonly offset: number | undefined
}

/**
 * Stages the certificate that replaces another one, and links both. The requester has the right `rekey` on the certificate.
 * @throws Refusal, Failure, PkiError
 */
export async function stageRenewal(
  requester: CertificateRequester,
  order: RenewalOrder,
): Promise<ManagedObject> {
  const { object, material, subject, issuer, isSameSubject, makeObject, name } = order
  const old = new X509Certificate(material)
  if (issuer.certificate === undefined && old.issuer !== old.subject)
    throw refusal(
      'InvalidField',
      'The service does not have the issuer of the certificate: set a certificate link.',
    )
  const isSameIssuer = await isIssuer(requester, order)
  if (!isSameIssuer) await requireMayChangeIssuer(requester, object)
  const isCopied = isSameIssuer && issuer.authority?.settings.profiles === undefined
  const kept = isSameSubject
    ? subject.extensions.filter(({ identifier }) => isCopied || !publishing.has(identifier))
    : subject.extensions
  const made = await stageCertificate(requester, {
    subject,
    name,
    issuer,
    extensions: order.extensions ?? kept,
    ...choosePeriod(order, old, requester.now),
    replaces: object,
    makeObject,
  })
  await linkReplacement(requester, object, made)
  return made
}

/** Extensions with the URLs of revocation information, which a different or profile-limited issuer sets itself. */
const publishing: ReadonlySet<string> = new Set([
  extensionIdentifiers.crlDistributionPoints,
  extensionIdentifiers.freshestCrl,
  extensionIdentifiers.authorityInformationAccess,
])

/** The bytes of a certificate that is to be renewed. @throws Refusal KeyValueNotPresent, WrongKeyLifecycleState */
export async function readRenewable(
  requester: CertificateRequester,
  object: ManagedObject,
): Promise<Uint8Array> {
  const material = await requester.objects.material(object)
  if (material === undefined)
    throw refusal('KeyValueNotPresent', 'The service does not have the certificate.')
  await requireNotRevoked(requester, object, material)
  return material
}

/**
 * Refuses revoked certificates and those on hold, by the register, or by the object if no authority of this service
 * issued the certificate.
 * @throws Refusal WrongKeyLifecycleState
 */
async function requireNotRevoked(
  { services, now }: CertificateRequester,
  object: ManagedObject,
  der: Uint8Array,
): Promise<void> {
  const issued = await findRegisterEntry(services.db, object, der)
  const status = issued === undefined ? 'good' : toStatus(issued)
  if (status === 'hold')
    throw refusal(
      'WrongKeyLifecycleState',
      'The certificate is on hold: renew it after its release by the authority.',
    )
  if (status === 'revoked' || stateAt(object, now) === 'Compromised')
    throw refusal('WrongKeyLifecycleState', 'The certificate is revoked: certify another key.')
}

/** Whether the certificate is one of this issuer: by the register, else by its name and signature. */
async function isIssuer(
  { services }: CertificateRequester,
  { object, material, issuer }: { object: ManagedObject; material: Uint8Array; issuer: ChosenIssuer },
): Promise<boolean> {
  const { issuer: name, subject } = parseCertificate(material)
  // A self-signed certificate signs itself again, even under another name.
  if (issuer.certificate === undefined) return Buffer.compare(name, subject) === 0
  const issued = await findRegisterEntry(services.db, object, material)
  if (issued !== undefined) return issuer.authority?.issuer === issued.issuer
  if (Buffer.compare(name, issuer.name) !== 0) return false
  const key = createPublicKey({ key: Buffer.from(issuer.spki), format: 'der', type: 'spki' })
  return new X509Certificate(material).verify(key)
}

/** @throws Refusal PermissionDenied for others than the owner; InvalidField for an authority, which keeps its issuer */
async function requireMayChangeIssuer(
  { services, principal }: CertificateRequester,
  object: ManagedObject,
): Promise<void> {
  if (object.owner !== principal.name)
    throw refusal('PermissionDenied', 'Only the owner of the certificate may renew it with another issuer.')
  if ((await findAuthority(services.db, object.id)) !== undefined)
    throw refusal(
      'InvalidField',
      'An authority can be renewed only by its own issuer: use Certify for a certificate of another issuer.',
    )
}

/** The latest time that a certificate can contain (RFC 5280 §4.1.2.5), in Unix milliseconds. */
const lastEnd = Date.UTC(9999, 11, 31, 23, 59, 59)

/**
 * Chooses the validity of the new certificate. Without an offset the dates of the old one are copied (KMIP 2.1
 * §6.1.45), unless the certificate would have expired already, or the client requests a number of days, counted from
 * now.
 */
function choosePeriod(
  { object, days, offset }: Pick<RenewalOrder, 'object' | 'days' | 'offset'>,
  old: X509Certificate,
  now: number,
): Pick<CertificateOrder, 'notBefore' | 'notAfter'> {
  const [from, to] = [old.validFromDate.getTime(), old.validToDate.getTime()]
  const begin = Math.max(object.activationAt ?? from, 0)
  const end = Math.min(object.deactivationAt ?? to, lastEnd)
  if (offset === undefined && days === undefined && Math.min(end, to) > now)
    return { notBefore: begin, notAfter: end }
  const notBefore = now + (offset ?? 0) * 1000
  return { notBefore, notAfter: notBefore + (days === undefined ? to - from : days * day) }
}
