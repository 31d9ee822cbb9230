import { fromLegacyName, legacyVendor, toLegacyAttributes } from '@warder/kmip/messages'
import { isLegacy, Tag, tagByName } from '@warder/kmip/tables'
import { enumeration, structure, type TtlvNode } from '@warder/kmip/ttlv'
import {
  attributeRule,
  indexNodes,
  instancesCalled,
  isKnownAttribute,
  readReferredName,
  readVendorName,
} from '../../attributes/index.ts'
import type { KmipContext } from '../../engine/index.ts'
import type { WrappingSpecification } from '../../key-blocks/index.ts'
import { attributeState } from '../attributes/attribute-request.ts'

/**
 * The attributes that are to be wrapped with the key (KMIP 2.1 §7.18), the standard's and vendors', as members of its
 * KeyValue in the form of the client's version: nobody can change that form once they are wrapped or authenticated
 * (KMIP 1.4 §2.1.4, KMIP 2.1 §3.1.3). Those that it does not have are left out.
 */
export async function listWrappedAttributes(
  context: KmipContext,
  { attributes }: WrappingSpecification,
): Promise<readonly TtlvNode[]> {
  const names = attributes.flatMap(
    (node) => readReferredName(node.type === 'TextString' ? referenceTo(node.value) : node) ?? [],
  )
  const needsTags = names.some(({ tag }) => tag === Tag.Attribute)
  const state = await attributeState(context, needsTags)
  const { now, version } = context
  const nodes = names
    .filter(({ tag }) => isKnownAttribute(version, tag))
    .flatMap((name) => instancesCalled(state, name, now))
  if (nodes.length === 0) return []
  if (!isLegacy(version)) return [structure(Tag.Attributes, nodes)]
  return toLegacyAttributes(version, structure(Tag.Attributes, indexNodes(state.object, nodes)))
}

/** AttributeName, as 1.x writes names (`x-…` is the client's own) or as the tag is called. */
function referenceTo(name: string): TtlvNode {
  const reference = fromLegacyName(name)
  if (readVendorName(reference)?.vendor !== legacyVendor) return reference
  const tag = tagByName(name)
  return tag === undefined || attributeRule(tag) === undefined
    ? reference
    : enumeration(Tag.AttributeReference, tag)
}
