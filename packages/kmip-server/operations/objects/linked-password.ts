import { stateAt } from '@warder/keys'
import { Enumeration, findMember, type StructureNode, Tag, type TtlvNode } from '@warder/kmip-codec'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'

/**
 * The password of a PKCS#12 password link among the attributes (KMIP 2.1 §4.31); undefined without a link.
 * @throws BadPassword for a link to an object other than active secret data, ObjectNotFound
 */
export async function findLinkedPassword(
  context: KmipContext,
  attributes: readonly TtlvNode[],
): Promise<string | undefined> {
  const links = attributes.filter(
    (node): node is StructureNode =>
      node.tag === Tag.Link &&
      node.type === 'Structure' &&
      findMember(node, Tag.LinkType)?.value === Enumeration.LinkType.PKCS_12PasswordLink,
  )
  if (links.length > 1) throw kmipFailure('BadPassword', 'There is more than one PKCS#12 password link.')
  for (const node of links) {
    const id = context.identifier(findMember(node, Tag.LinkedObjectIdentifier))
    const secret = await context.permitted(id, 'get')
    if (secret.type !== 'SecretData')
      throw kmipFailure('BadPassword', 'The PKCS#12 password link does not lead to secret data.')
    if (stateAt(secret, context.now) !== 'Active')
      throw kmipFailure('BadPassword', 'The secret data of the PKCS#12 password link is not Active.')
    const material = await context.objects.material(secret)
    if (material === undefined)
      throw kmipFailure('KeyValueNotPresent', 'The password is not stored on this server.')
    const text = Buffer.from(material).toString('utf8')
    material.fill(0)
    return text
  }
  return undefined
}
