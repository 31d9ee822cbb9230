import { parsePolicy } from '@warder/covercrypt'
import {
  abeAlgorithm,
  abePolicyAttribute,
  getChainId,
  issueUserKey,
  keyFacts,
  requirePermitted,
  stageNewObject,
} from '@warder/keys'
import { dateTime, Enumeration, findMember, Tag, type TtlvNode } from '@warder/kmip-codec'
import { requireText } from '../../attributes/abe-request.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { findLinkedMaster } from '../../locate/tagged-master.ts'
import { newAbeKey } from './new-key.ts'

/**
 * Create of a user key for a policy, from the master key in ParentLink, on which the caller needs `derivekey`. The key
 * is Active at once unless it has a later activation date.
 */
export async function createUserKey(
  context: KmipContext,
  wished: readonly TtlvNode[],
): Promise<{ readonly objectType: 'PrivateKey'; readonly uniqueIdentifier: string }> {
  requirePermitted(context.services.policy, keyFacts({ algorithm: abeAlgorithm }))
  const policy = requireText(wished, abePolicyAttribute)
  // Checked before the master key is read.
  parsePolicy(policy)
  const attributes = await Promise.all(wished.map((node) => findLinkedMaster(node, context)))
  const master = await context.permitted(requireParent(attributes, context), 'derivekey')
  const { material, form, rights } = await issueUserKey(context.objects, master, policy, context.now)
  const dated = attributes.some(({ tag }) => tag === Tag.ActivationDate)
  const activation = dated ? [] : [dateTime(Tag.ActivationDate, 0)]
  try {
    const request = { material, form, attributes: [...attributes, ...activation], generated: true }
    context.services.uses.note(getChainId(master), context.principal.name, context.now)
    const object = stageNewObject(context, newAbeKey({ type: 'PrivateKey', ...request }))
    context.audit({
      object: object.id,
      algorithm: abeAlgorithm,
      details: { master: master.id, policy, rights },
    })
    context.placeholder = object.id
    return { objectType: 'PrivateKey', uniqueIdentifier: object.id }
  } finally {
    material.fill(0)
  }
}

/** The master key that the one ParentLink names. @throws kmipFailure MissingData, InvalidField */
function requireParent(attributes: readonly TtlvNode[], context: KmipContext): string {
  const links = attributes.filter(
    (node) =>
      node.tag === Tag.Link &&
      node.type === 'Structure' &&
      findMember(node, Tag.LinkType)?.value === Enumeration.LinkType.ParentLink,
  )
  const [link, another] = links
  if (link?.type !== 'Structure')
    throw kmipFailure('MissingData', 'A user key must have a Link of type ParentLink to its master key.')
  if (another !== undefined) throw kmipFailure('InvalidField', 'A user key must have exactly one master key.')
  return context.identifier(findMember(link, Tag.LinkedObjectIdentifier))
}
