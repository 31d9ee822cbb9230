import { type CertificateSubject, chooseIssuer, stageCertificate } from '@warder/authority'
import { requireSoftwareStorage } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import { storageMasks } from '../../attributes/wanted-key.ts'
import { creates } from '../../engine/access.ts'
import { namedObject, objectReply } from '../../engine/identifiers.ts'
import { defineOperation } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { type DecodedPayload, definePayload, field } from '../../payloads/payload.ts'
import { certificateMaker } from './certificate-object.ts'
import { csrFields, newPairSubject, readNamedSubject, readRequestedSubject } from './certificate-subject.ts'
import { type CertificateWish, readCertificateWish } from './certificate-wish.ts'

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
