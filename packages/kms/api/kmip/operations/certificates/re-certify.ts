import { createPublicKey, X509Certificate } from 'node:crypto'
import { Tag } from '@warder/kmip/tables'
import { membersWithin } from '@warder/kmip/ttlv'
import { extensionIdentifiers, parseCertificate } from '@warder/pki/x509'
import { entryOf, findAuthority, statusOf } from '../../../../authority/index.ts'
import { linkedObject, type ManagedObject, stateAt } from '../../../../keys/index.ts'
import { requireSoftwareStorage } from '../../attributes/wanted-key.ts'
import {
  type KmipContext,
  type KmipOperation,
  kmipFailure,
  objectRight,
  uniqueIdentifier,
} from '../../engine/index.ts'
import { linkReplacement, offsetOf, requireReplaceable, takenOver } from '../objects/replacement.ts'
import type { ChosenIssuer } from './certificate-issuer.ts'
import { type CertificateOrder, stageCertificate } from './certificate-object.ts'
import { type CertificateSubject, requestedSubject, subjectOf } from './certificate-subject.ts'
import { type CertificateWish, readCertificateWish } from './certificate-wish.ts'
import { issuerFor } from './certify.ts'

const day = 86_400_000

/**
 * ReCertify (KMIP 2.1 §6.1.45): the same subject gets a new certificate from the same issuer, valid for as long as the
 * old one was: at the same dates, or from the offset on. Takes the right `rekey` on the certificate, which is replaced,
 * and `certify` on the issuer.
 */
export const reCertify: KmipOperation = {
  name: 'ReCertify',
  access: objectRight('rekey', { creates: true }),
  async act(payload, context) {
    const { object, now } = context
    if (object.type !== 'Certificate')
      throw kmipFailure('InvalidObjectType', `ReCertify is not for objects of type ${object.type}.`)
    requireReplaceable(context, object)
    requireSoftwareStorage(payload.value)
    const material = await context.objects.material(object)
    if (material === undefined) throw kmipFailure('KeyValueNotPresent', 'The certificate is not kept here.')
    await requireNotRevoked(context, material)
    const wish = readCertificateWish(membersWithin(payload, Tag.Attributes))
    const before = await subjectOf(context, object)
    const subject = (await requestedSubject(payload, context)) ?? before
    requireSameForGrantee(context, wish, { before, subject })
    const name = wish.subject ?? subject.name ?? before.name
    if (name === undefined) throw kmipFailure('InvalidField', 'The subject of the certificate has no name.')
    const issuer = await issuerFor(
      context,
      {
        issuerKey: wish.issuerKey,
        issuerCertificate:
          wish.issuerCertificate ??
          (wish.issuerKey === undefined ? linkedObject(object, 'CertificateLink') : undefined),
      },
      subject,
      { name, owner: object.owner },
    )
    const old = new X509Certificate(material)
    if (issuer.certificate === undefined && old.issuer !== old.subject)
      throw kmipFailure('InvalidField', 'The issuer of the certificate is not here: name it with a link.')
    const isSameIssuer = await isIssuerOf(context, issuer, material)
    if (!isSameIssuer) await requireMayChangeIssuer(context)
    const copied = isSameIssuer && issuer.authority?.settings.profiles === undefined
    const made = await stageCertificate(context, {
      subject,
      name,
      issuer,
      extensions:
        wish.extensions ??
        (subject === before
          ? before.extensions.filter(({ identifier }) => copied || !publishing.has(identifier))
          : subject.extensions),
      ...periodOf({ object, old, days: wish.days, offset: offsetOf(payload), now }),
      attributes: await takenOver(context, object, wish.attributes, undefined),
      replaces: object,
    })
    await linkReplacement(context, object, made)
    context.audit({ object: object.id, details: { replacement: made.id } })
    context.placeholder = made.id
    return [uniqueIdentifier(made.id)]
  },
}

/** Where an issuer publishes what it revoked: another issuer, and one that is limited to profiles, say it themselves. */
const publishing: ReadonlySet<string> = new Set([
  extensionIdentifiers.crlDistributionPoints,
  extensionIdentifiers.freshestCrl,
  extensionIdentifiers.authorityInformationAccess,
])

/**
 * The register knows best what was revoked or is on hold; of a certificate that no authority of here issued, its object.
 * @throws WrongKeyLifecycleState
 */
export async function requireNotRevoked(
  { services, object, now }: Pick<KmipContext, 'services' | 'object' | 'now'>,
  der: Uint8Array,
): Promise<void> {
  const issued = await entryOf(services.db, object, der)
  const status = issued === undefined ? 'good' : statusOf(issued)
  if (status === 'hold')
    throw kmipFailure(
      'WrongKeyLifecycleState',
      'The certificate is on hold: renew it after the authority has released it.',
    )
  if (status === 'revoked' || stateAt(object, now) === 'Compromised')
    throw kmipFailure('WrongKeyLifecycleState', 'The certificate was revoked: certify another key.')
}

/** A grantee of `rekey` may only renew a certificate unchanged; its owner may change its contents. @throws PermissionDenied */
function requireSameForGrantee(
  { object, principal }: KmipContext,
  { subject: name, extensions }: CertificateWish,
  { before, subject }: { readonly before: CertificateSubject; readonly subject: CertificateSubject },
): void {
  if (object.owner === principal.name) return
  if (name !== undefined || extensions !== undefined || subject !== before)
    throw kmipFailure(
      'PermissionDenied',
      'The right rekey permits only a renewal without changes: only the owner may change the key, subject and extensions.',
    )
}

/** Whether the certificate is one of this issuer: by the register, else by its name and signature. */
async function isIssuerOf(
  { services, object }: KmipContext,
  issuer: ChosenIssuer,
  der: Uint8Array,
): Promise<boolean> {
  const { issuer: name, subject } = parseCertificate(der)
  // It signed itself, and does so again, whatever its name will be.
  if (issuer.certificate === undefined) return Buffer.compare(name, subject) === 0
  const issued = await entryOf(services.db, object, der)
  if (issued !== undefined) return issuer.authority?.issuer === issued.issuer
  if (Buffer.compare(name, issuer.name) !== 0) return false
  const key = createPublicKey({ key: Buffer.from(issuer.spki), format: 'der', type: 'spki' })
  return new X509Certificate(der).verify(key)
}

/** @throws PermissionDenied for others than the owner; InvalidField for an authority, which keeps its issuer */
async function requireMayChangeIssuer({ services, object, principal }: KmipContext): Promise<void> {
  if (object.owner !== principal.name)
    throw kmipFailure('PermissionDenied', 'Only the owner of the certificate may renew it by another issuer.')
  if ((await findAuthority(services.db, object.id)) !== undefined)
    throw kmipFailure(
      'InvalidField',
      'An authority can be renewed only by its own issuer: use Certify for a certificate by another one.',
    )
}

interface Renewal {
  readonly object: ManagedObject
  readonly old: X509Certificate
  readonly days: number | undefined
  /** Seconds. */
  readonly offset: number | undefined
  readonly now: number
}

/** The last moment that a certificate can tell (RFC 5280 §4.1.2.5), in Unix milliseconds. */
const lastEnd = Date.UTC(9999, 11, 31, 23, 59, 59)

/**
 * When the new certificate is valid. Without an offset the dates of the old one are copied (KMIP 2.1 §6.1.45), unless a
 * certificate with them would be over already, or the client says how many days it wants: those begin now.
 */
function periodOf({
  object,
  old,
  days,
  offset,
  now,
}: Renewal): Pick<CertificateOrder, 'notBefore' | 'notAfter'> {
  const [from, to] = [old.validFromDate.getTime(), old.validToDate.getTime()]
  const begin = Math.max(object.activationAt ?? from, 0)
  const end = Math.min(object.deactivationAt ?? to, lastEnd)
  if (offset === undefined && days === undefined && Math.min(end, to) > now)
    return { notBefore: begin, notAfter: end }
  const notBefore = now + (offset ?? 0) * 1000
  return { notBefore, notAfter: notBefore + (days === undefined ? to - from : days * day) }
}
