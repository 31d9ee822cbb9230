import { X509Certificate } from 'node:crypto'
import {
  findLinkedHalf,
  findLinkTarget,
  linkReplacement,
  type ManagedObject,
  refusal,
  requirePermittedObject,
  requireReplaceable,
  stageReplacementPair,
} from '@warder/keys'
import { resolveNamedIssuer } from '../issuance/issuer.ts'
import { stageCertificate } from '../issuance/stage-certificate.ts'
import { findSubject } from '../issuance/subject.ts'
import { type RenewalRequester, replacementMaker } from './replacement-object.ts'
import { readRenewable } from './stage-renewal.ts'

/**
 * Stages a new pair that replaces one whose certificate an authority of this service issued, with a certificate of the
 * same authority, for the same subject and the same period of validity.
 * @returns the new private key
 * @throws Refusal, Failure, PkiError
 */
export async function renewPair(requester: RenewalRequester, object: ManagedObject): Promise<ManagedObject> {
  const certificate = await findCertificate(requester, object)
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
async function findCertificate(requester: RenewalRequester, object: ManagedObject): Promise<ManagedObject> {
  const id = findLinkTarget(object, 'CertificateLink')
  const certificate = id === undefined ? undefined : await requirePermittedObject(requester, id, 'rekey')
  if (certificate?.type !== 'Certificate' || findLinkTarget(certificate, 'CertificateLink') === undefined)
    throw refusal('InvalidField', 'This pair has no certificate of an authority of this service.')
  return certificate
}
