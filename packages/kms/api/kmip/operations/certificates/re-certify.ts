import { X509Certificate } from 'node:crypto'
import { Tag } from '@warder/kmip/tables'
import { membersWithin } from '@warder/kmip/ttlv'
import { linkedObject, type ManagedObject } from '../../../../keys/index.ts'
import { requireSoftwareStorage } from '../../attributes/wanted-key.ts'
import { type KmipOperation, kmipFailure, objectRight, uniqueIdentifier } from '../../engine/index.ts'
import { linkReplacement, offsetOf, requireReplaceable, takenOver } from '../objects/replacement.ts'
import { type CertificateOrder, stageCertificate } from './certificate-object.ts'
import { requestedSubject, subjectOf } from './certificate-subject.ts'
import { readCertificateWish } from './certificate-wish.ts'
import { issuerFor } from './certify.ts'

const day = 86_400_000

/**
 * ReCertify (KMIP 2.1 §6.1.45): the same subject gets a new certificate from the same issuer, valid for as long as the
 * old one was: at the same dates, or from the offset on.
 */
export const reCertify: KmipOperation = {
  name: 'ReCertify',
  access: objectRight('certify', { creates: true }),
  async act(payload, context) {
    const { object, now } = context
    if (object.type !== 'Certificate')
      throw kmipFailure('InvalidObjectType', `ReCertify is not for objects of type ${object.type}.`)
    requireReplaceable(context, object)
    requireSoftwareStorage(payload.value)
    const wish = readCertificateWish(membersWithin(payload, Tag.Attributes))
    const before = await subjectOf(context, object)
    const subject = (await requestedSubject(payload, context)) ?? before
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
      name,
    )
    const material = await context.objects.material(object)
    if (material === undefined) throw kmipFailure('KeyValueNotPresent', 'The certificate is not kept here.')
    const old = new X509Certificate(material)
    if (issuer.certificate === undefined && old.issuer !== old.subject)
      throw kmipFailure('InvalidField', 'The issuer of the certificate is not here: name it with a link.')
    const made = await stageCertificate(context, {
      subject,
      name,
      issuer,
      extensions: wish.extensions ?? (subject === before ? before.extensions : subject.extensions),
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
