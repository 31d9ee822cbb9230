import {
  type AccessServices,
  applyCreationRules,
  attributesForReplacement,
  type ManagedObject,
  type NewObject,
  ObjectAttributes,
  replacementMembers,
  requireDateOrder,
} from '@warder/keys'
import { certificateObject } from '../certificate-object.ts'
import type { CertificateRequester } from '../issuance/requester.ts'
import type { CertificateToKeep } from '../issuance/stage-certificate.ts'

/** Makes the object of a certificate that replaces another one and inherits its attributes and dates of use. */
export function replacementMaker(
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
export interface RenewalRequester extends CertificateRequester {
  readonly services: CertificateRequester['services'] & AccessServices
}
