import { fromLegacyName, legacyVendor } from '@warder/kmip/messages'
import { Tag, tagByName } from '@warder/kmip/tables'
import { enumeration, type TtlvNode } from '@warder/kmip/ttlv'
import type { KmipContext } from '../engine/index.ts'
import type { WrappingSpecification } from '../keys/index.ts'
import { attributeRule, instancesCalled, referredName, vendorNameOf } from '../object/index.ts'
import { attributeState } from './attribute-request.ts'

/**
 * The attributes that are to be wrapped with the key (KMIP 2.1 §7.18), the standard's and vendors'. Those that it does
 * not have are left out.
 */
export async function wrappedAttributes(
  context: KmipContext,
  { attributes }: WrappingSpecification,
): Promise<readonly TtlvNode[]> {
  const names = attributes.flatMap(
    (node) => referredName(node.type === 'TextString' ? referenceTo(node.value) : node) ?? [],
  )
  const needsTags = names.some(({ tag }) => tag === Tag.Attribute)
  const state = await attributeState(context, needsTags)
  return names.flatMap((name) => instancesCalled(state, name, context.now))
}

/** AttributeName, as 1.x writes names (`x-…` is the client's own) or as the tag is called. */
function referenceTo(name: string): TtlvNode {
  const reference = fromLegacyName(name)
  if (vendorNameOf(reference)?.vendor !== legacyVendor) return reference
  const tag = tagByName(name)
  return tag === undefined || attributeRule(tag) === undefined
    ? reference
    : enumeration(Tag.AttributeReference, tag)
}
