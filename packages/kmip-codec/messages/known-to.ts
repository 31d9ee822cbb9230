import { algorithmIn, keyFormatIn, renamesEllipticKeys } from '../tables/elliptic.ts'
import type { OperationName } from '../tables/operations.ts'
import { Tag } from '../tables/tags.gen.ts'
import type { KmipVersion } from '../tables/versions.ts'
import { enumeration, structure } from '../ttlv/build.ts'
import { findMember } from '../ttlv/members.ts'
import type { StructureNode, TtlvNode } from '../ttlv/node.ts'

/** Operations whose responses contain formats and algorithms of keys. */
const namesKeys: ReadonlySet<OperationName> = new Set(['Get', 'Export', 'GetAttributes'])

/**
 * Converts a response in the form of 2.x to the key names of this version: EC keys have other names before
 * 1.4. In 1.0, whose Digest has no format (KMIP 1.0 §3.12, 1.1 §3.17), only the first digest is returned,
 * that of the registered format.
 */
export function asKnownTo(
  version: KmipVersion,
  operation: OperationName,
  payload: StructureNode,
): StructureNode {
  return namesKeys.has(operation) && renamesEllipticKeys(version)
    ? renameAlgorithms(version, payload)
    : payload
}

/** @param around CryptographicAlgorithm of the enclosing structure */
function renameAlgorithms(version: KmipVersion, node: StructureNode, around?: number): StructureNode {
  const algorithm = findMember(node, Tag.CryptographicAlgorithm)
  const use = algorithm?.type === 'Enumeration' ? algorithm.value : around
  const digest = findMember(node, Tag.Digest)
  return structure(
    node.tag,
    node.value.flatMap((member): TtlvNode | readonly TtlvNode[] => {
      if (version === '1.0' && member.tag === Tag.Digest && member !== digest) return []
      if (member.type === 'Structure') return renameAlgorithms(version, member, use)
      if (member.type !== 'Enumeration') return member
      if (member.tag === Tag.KeyFormatType) {
        if (version === '1.0' && node.tag === Tag.Digest) return []
        return enumeration(member.tag, keyFormatIn(version, member.value, use))
      }
      if (member.tag === Tag.CryptographicAlgorithm)
        return enumeration(member.tag, algorithmIn(version, member.value))
      return member
    }),
  )
}
