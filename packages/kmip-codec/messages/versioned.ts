import { valueName } from '../tables/enumerations.ts'
import { type OperationName, objectTypeIn, operationIn } from '../tables/operations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { tagIntroduced } from '../tables/tags.ts'
import { atLeast, isLegacy, type KmipVersion } from '../tables/versions.ts'
import { structure } from '../ttlv/build.ts'
import type { StructureNode, TtlvNode } from '../ttlv/node.ts'
import { asKnownTo } from './known-to.ts'
import { toLegacy } from './legacy.ts'
import { attributesIn } from './legacy-attributes.ts'

const attributeHolders: ReadonlySet<number> = new Set([
  Tag.Attributes,
  Tag.CommonAttributes,
  Tag.PrivateKeyAttributes,
  Tag.PublicKeyAttributes,
])

/**
 * Converts a payload in the form of 2.x to the client's version: to the 1.x form for 1.x, and without tags,
 * attributes, operations or object types that are newer than this version. NewAttribute, CurrentAttribute and
 * AttributeIndex in a reply are only for 1.x clients, whose replies contain the changed attribute.
 */
export function payloadFor(
  version: KmipVersion,
  operation: OperationName,
  given: StructureNode,
  direction: 'request' | 'response',
): StructureNode {
  const payload = direction === 'request' ? given : asKnownTo(version, operation, given)
  if (isLegacy(version)) return prune(version, toLegacy(version, operation, payload))
  const members =
    direction === 'request' ? payload.value : payload.value.filter(({ tag }) => !onlyForLegacy.has(tag))
  const kept = members.length === payload.value.length ? payload : structure(payload.tag, members)
  return version === '2.1' ? kept : prune(version, kept)
}

const onlyForLegacy: ReadonlySet<number> = new Set([
  Tag.NewAttribute,
  Tag.CurrentAttribute,
  Tag.AttributeIndex,
])

function prune(version: KmipVersion, node: StructureNode): StructureNode {
  const members = attributeHolders.has(node.tag) ? attributesIn(version, node.value) : node.value
  return structure(
    node.tag,
    members.flatMap((member) => {
      if (!isKnown(version, member)) return []
      return [member.type === 'Structure' ? prune(version, member) : member]
    }),
  )
}

function isKnown(version: KmipVersion, node: TtlvNode): boolean {
  if (!atLeast(version, tagIntroduced(node.tag))) return false
  if (node.type !== 'Enumeration') return true
  if (node.tag === Tag.Operation) {
    const operation = valueName('Operation', node.value)
    return operation === undefined || operationIn(version, operation)
  }
  if (node.tag === Tag.ObjectType) {
    const type = valueName('ObjectType', node.value)
    return type === undefined || objectTypeIn(version, type)
  }
  return true
}
