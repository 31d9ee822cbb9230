import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, dateTime, enumeration, structure } from '@warder/kmip/ttlv'
import type { MakeCertificateObject } from '../../../../authority/index.ts'
import type { AlgorithmPolicy } from '../../../../crypto/index.ts'
import { noRules } from '../../attributes/creation-rules.ts'
import { newObjectOf, usualMask } from '../../attributes/new-object.ts'
import { readManagedObject } from '../../key-blocks/index.ts'
import { storedColumns } from '../../key-blocks/object-shape.ts'
import { link } from '../objects/replacement.ts'

/** The object of a certificate that was issued here, whoever asked for it: with the attributes that KMIP clients read. */
export function certificateObjects(policy: AlgorithmPolicy): MakeCertificateObject {
  return async ({ der, owner, links, notBefore, notAfter, id }, now) => {
    const node = structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, der),
    ])
    const stored = await readManagedObject('Certificate', node, {}, policy)
    return newObjectOf(
      { rules: noRules, now, services: { policy }, principal: { name: owner } },
      {
        type: 'Certificate',
        ...storedColumns(stored),
        ...(id !== undefined && { id }),
        attributes: [
          dateTime(Tag.ActivationDate, Math.floor(notBefore / 1000)),
          dateTime(Tag.DeactivationDate, Math.floor(notAfter / 1000)),
          ...links.map(({ kind, id: to }) => link(kind as Parameters<typeof link>[0], to)),
        ],
        source: 'server',
        material: stored.material,
        defaultMask: usualMask(stored.shape),
      },
    )
  }
}
