import { attributeRule, readVendorName } from '@warder/keys'
import {
  enumeration,
  fromLegacyName,
  isLegacy,
  legacyVendor,
  structure,
  Tag,
  type TtlvNode,
  tagByName,
  toLegacyAttributes,
} from '@warder/kmip-codec'
import { instancesCalled } from '../../attributes/attribute-edit.ts'
import { indexNodes } from '../../attributes/attribute-index.ts'
import { isKnownAttribute, readReferredName } from '../../attributes/attribute-name.ts'
import type { KmipContext } from '../../engine/types.ts'
import type { WrappingSpecification } from '../../key-blocks/key-wrapping.ts'
import { attributeState } from '../attributes/attribute-request.ts'

/**
 * The standard and vendor attributes to wrap with the key (KMIP 2.1 §7.18), as members of its KeyValue in the form of
 * the client's version: the form cannot change once they are wrapped or authenticated (KMIP 1.4 §2.1.4, KMIP 2.1
 * §3.1.3). Attributes that the key does not have are omitted.
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

/** AttributeName in the 1.x form (`x-…` is the client's own) or as the name of the tag. */
function referenceTo(name: string): TtlvNode {
  const reference = fromLegacyName(name)
  if (readVendorName(reference)?.vendor !== legacyVendor) return reference
  const tag = tagByName(name)
  return tag === undefined || attributeRule(tag) === undefined
    ? reference
    : enumeration(Tag.AttributeReference, tag)
}
