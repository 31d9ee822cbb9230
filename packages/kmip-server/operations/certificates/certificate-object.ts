import type { CertificateToKeep } from '@warder/authority'
import { linkNode, type NewObject } from '@warder/keys'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import type { KmipContext } from '../../engine/types.ts'
import { readManagedObject } from '../../key-blocks/read-object.ts'
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
