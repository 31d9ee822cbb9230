import {
  type CertificateSubject,
  chooseIssuer,
  findSubject,
  readRenewable,
  stageCertificate,
  stageRenewal,
} from '@warder/authority'
import { findLinkTarget, requireReplaceable, requireSoftwareStorage } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { storageMasks } from '../../attributes/wanted-key.ts'
import { creates, defineOperation, namedObject, objectReply, objectRight } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { type DecodedPayload, definePayload, field } from '../../payloads/payload.ts'
import { copyAttributes, offset, readOffset } from '../objects/replacement.ts'
import { csrFields, newPairSubject, readNamedSubject, readRequestedSubject } from './certificate-subject.ts'
import { type CertificateWish, certificateMaker, readCertificateWish } from './certificate-wish.ts'

const day = 86_400_000
/** Default validity of a certificate in days. */
const defaultDays = 365

const request = definePayload({
  uniqueIdentifier: namedObject,
  ...csrFields,
  attributes: field.attributes(Tag.Attributes),
  storageMasks,
})

/**
 * Certify (KMIP 2.1 §6.1.6): a certificate for a stored public key, for a CSR that is sent or stored, or for a new
 * pair. Links in the attributes name the issuer; without them the certificate is self-signed.
 */
export const certify = defineOperation({
  name: 'Certify',
  reach: ['make certificate', 'make object'],
  asks: ['certify'],
  access: creates,
  request,
  reply: objectReply,
  async handle(asked, context) {
    requireSoftwareStorage(asked.storageMasks)
    const wish = readCertificateWish(asked.attributes)
    const subject = await subjectFor(asked, context, wish)
    const name = wish.subject ?? subject.name
    if (name === undefined) throw kmipFailure('InvalidField', 'The subject of the certificate has no name.')
    const named = { key: wish.issuerKey, certificate: wish.issuerCertificate }
    const issuer = await chooseIssuer(context, named, subject, { name, owner: context.principal.name })
    const object = await stageCertificate(context, {
      subject,
      name,
      issuer,
      extensions: wish.extensions ?? subject.extensions,
      notBefore: context.now,
      notAfter: context.now + (wish.days ?? defaultDays) * day,
      makeObject: certificateMaker(context, wish.attributes),
    })
    context.placeholder = object.id
    return { uniqueIdentifier: object.id }
  },
})

async function subjectFor(
  asked: DecodedPayload<typeof request>,
  context: KmipContext,
  { attributes }: CertificateWish,
): Promise<CertificateSubject> {
  const requested = await readRequestedSubject(asked, context)
  if (requested !== undefined) return requested
  const described = attributes.some(({ tag }) => tag === Tag.CryptographicAlgorithm)
  if (described && asked.uniqueIdentifier === undefined) return newPairSubject(context, attributes)
  const subject = await readNamedSubject(asked.uniqueIdentifier, context)
  if (subject === undefined)
    throw kmipFailure(
      'MissingData',
      'The request must contain a key, a certificate request or an algorithm to certify.',
    )
  return subject
}

/**
 * ReCertify (KMIP 2.1 §6.1.45): a new certificate for the same subject from the same issuer, with the validity period
 * of the old one: the same dates, or shifted by the offset. Requires `rekey` on the certificate, which is replaced, and
 * `certify` on the issuer.
 */
export const reCertify = defineOperation({
  name: 'ReCertify',
  reach: ['make certificate', 'change versions'],
  asks: ['certify'],
  access: objectRight('rekey', { creates: true }),
  request: definePayload({
    uniqueIdentifier: namedObject,
    ...csrFields,
    offset,
    attributes: field.attributes(Tag.Attributes),
    storageMasks,
  }),
  reply: objectReply,
  async handle(asked, context) {
    const { object } = context
    if (object.type !== 'Certificate')
      throw kmipFailure('InvalidObjectType', `ReCertify does not support objects of type ${object.type}.`)
    requireReplaceable(context, object)
    requireSoftwareStorage(asked.storageMasks)
    const material = await readRenewable(context, object)
    const wish = readCertificateWish(asked.attributes)
    const before = await findSubject(context, object)
    const subject = (await readRequestedSubject(asked, context)) ?? before
    requireSameForGrantee(context, wish, { before, subject })
    const name = wish.subject ?? subject.name ?? before.name
    if (name === undefined) throw kmipFailure('InvalidField', 'The subject of the certificate has no name.')
    const { issuerKey, issuerCertificate } = wish
    const linked = issuerKey === undefined ? findLinkTarget(object, 'CertificateLink') : undefined
    const named = { key: issuerKey, certificate: issuerCertificate ?? linked }
    const issuer = await chooseIssuer(context, named, subject, { name, owner: object.owner })
    const attributes = await copyAttributes(context, object, wish.attributes, undefined)
    const made = await stageRenewal(context, {
      object,
      material,
      subject,
      name,
      issuer,
      extensions: wish.extensions,
      isSameSubject: subject === before,
      days: wish.days,
      offset: readOffset(asked.offset),
      makeObject: certificateMaker(context, attributes),
    })
    context.audit({ object: object.id, details: { replacement: made.id } })
    context.placeholder = made.id
    return { uniqueIdentifier: made.id }
  },
})

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
