import type { CertificateSubject } from '@warder/authority'
import { chooseIssuer, stageCertificate } from '@warder/authority'
import { requireSoftwareStorage } from '@warder/keys'
import { membersWithin, type StructureNode, Tag } from '@warder/kmip-codec'
import { creates } from '../../engine/access.ts'
import { uniqueIdentifier } from '../../engine/identifiers.ts'
import type { KmipContext, KmipOperation } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { certificateMaker } from './certificate-object.ts'
import { newPairSubject, readNamedSubject, readRequestedSubject } from './certificate-subject.ts'
import { type CertificateWish, readCertificateWish } from './certificate-wish.ts'

const day = 86_400_000
/** Default validity of a certificate in days. */
const defaultDays = 365

/**
 * Certify (KMIP 2.1 §6.1.6): a certificate for a stored public key, for a CSR that is sent or stored, or for a new
 * pair. Links in the attributes name the issuer; without them the certificate is self-signed.
 */
export const certify: KmipOperation = {
  name: 'Certify',
  access: creates,
  async act(payload, context) {
    requireSoftwareStorage(payload.value)
    const wish = readCertificateWish(membersWithin(payload, Tag.Attributes))
    const subject = await subjectFor(payload, context, wish)
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
    return [uniqueIdentifier(object.id)]
  },
}

async function subjectFor(
  payload: StructureNode,
  context: KmipContext,
  { attributes }: CertificateWish,
): Promise<CertificateSubject> {
  const requested = await readRequestedSubject(payload, context)
  if (requested !== undefined) return requested
  const described = attributes.some(({ tag }) => tag === Tag.CryptographicAlgorithm)
  const named = payload.value.some(({ tag }) => tag === Tag.UniqueIdentifier)
  if (described && !named) return newPairSubject(context, attributes)
  const subject = await readNamedSubject(payload, context)
  if (subject === undefined)
    throw kmipFailure(
      'MissingData',
      'Nothing says what is to be certified: a key, a request or an algorithm.',
    )
  return subject
}
