import { findLinkTarget, type ManagedObject, refusal, requireReplaceable } from '@warder/keys'
import { chooseIssuer } from '../issuance/issuer.ts'
import { findSubject } from '../issuance/subject.ts'
import { type RenewalRequester, replacementMaker } from './replacement-object.ts'
import { readRenewable, stageRenewal } from './stage-renewal.ts'

/**
 * Stages a certificate of the same issuer for the same subject and key, valid from now on for as long.
 * @throws Refusal, Failure, PkiError
 */
export async function renewCertificate(
  requester: RenewalRequester,
  object: ManagedObject,
): Promise<ManagedObject> {
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
