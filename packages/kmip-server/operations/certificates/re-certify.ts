import {
  type CertificateSubject,
  chooseIssuer,
  findSubject,
  readRenewable,
  stageRenewal,
} from '@warder/authority'
import { findLinkTarget, requireReplaceable, requireSoftwareStorage } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { storageMasks } from '../../attributes/wanted-key.ts'
import { objectRight } from '../../engine/access.ts'
import { namedObject, objectReply } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { definePayload, field } from '../../payloads/payload.ts'
import { copyAttributes, offset, readOffset } from '../objects/replacement.ts'
import { certificateMaker } from './certificate-object.ts'
import { csrFields, readRequestedSubject } from './certificate-subject.ts'
import { type CertificateWish, readCertificateWish } from './certificate-wish.ts'

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
