import { Enumeration, Tag } from '@warder/kmip/tables'
import { memberOf } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../../keys/index.ts'
import { storedAttributes } from '../stored/stored-attributes.ts'

type LinkType = keyof typeof Enumeration.LinkType

/** The object to which a stored link of this type leads. */
export function linkOf(object: ManagedObject, type: LinkType): string | undefined {
  for (const node of storedAttributes(object)) {
    if (node.tag !== Tag.Link || node.type !== 'Structure') continue
    if (memberOf(node, Tag.LinkType)?.value !== Enumeration.LinkType[type]) continue
    const id = memberOf(node, Tag.LinkedObjectIdentifier)
    if (id?.type === 'TextString') return id.value
  }
  return undefined
}

/** The private key of a pair, by the pair or by a link. */
export function privateKeyOf(object: ManagedObject): string | undefined {
  return linkOf(object, 'PrivateKeyLink') ?? (object.type === 'PublicKey' ? object.linkedId : undefined)
}
