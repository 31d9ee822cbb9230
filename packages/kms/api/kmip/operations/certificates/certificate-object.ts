import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, dateTime, enumeration, structure, type TtlvNode } from '@warder/kmip/ttlv'
import type { CertificateToKeep } from '../../../../authority/issuance/stage-certificate.ts'
import { linkNode } from '../../../../keys/creation/stored-attributes.ts'
import type { NewObject } from '../../../../keys/index.ts'
import type { KmipContext } from '../../engine/index.ts'
import { readManagedObject } from '../../key-blocks/index.ts'
import { newBrought } from '../objects/registered-object.ts'

/** Creates the object of an issued certificate, with the attributes of the request. */
export function certificateMaker(
  context: KmipContext,
  attributes: readonly TtlvNode[],
): (certificate: CertificateToKeep) => Promise<NewObject> {
  return async ({ der, notBefore, notAfter, links }) => {
    const node = structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, der),
    ])
    const stored = await readManagedObject('Certificate', node, {}, { fips: context.services.fips })
    return newBrought(context, stored, [
      ...attributes.filter(({ tag }) => !replaced.has(tag)),
      dateTime(Tag.ActivationDate, Math.floor(notBefore / 1000)),
      dateTime(Tag.DeactivationDate, Math.floor(notAfter / 1000)),
      ...links.map(linkNode),
    ])
  }
}

/** Attributes that the certificate itself determines. */
const replaced: ReadonlySet<number> = new Set([
  Tag.ActivationDate,
  Tag.DeactivationDate,
  Tag.CryptographicAlgorithm,
  Tag.CryptographicLength,
  Tag.CryptographicDomainParameters,
])
