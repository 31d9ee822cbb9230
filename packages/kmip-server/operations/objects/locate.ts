import { officerAccess } from '@warder/keys'
import { findMember, integer, type StructureNode, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { signedIn } from '../../engine/access.ts'
import { uniqueIdentifier } from '../../engine/identifiers.ts'
import type { KmipContext, KmipOperation } from '../../engine/types.ts'
import { type Criteria, readCriteria } from '../../locate/locate-criteria.ts'
import { type Located, search } from '../../locate/locate-search.ts'
import { findLinkedMaster } from '../../locate/tagged-master.ts'
import { withIdentifier } from '../attributes/attribute-request.ts'

/**
 * KMIP 2.1 §6.1.28: finds the identifiers of objects by their attributes, the newest first. The owner of an object,
 * users with a grant of `locate` and crypto officers find it. A single result sets the ID placeholder; otherwise it is
 * cleared, so that later items of the batch cannot use the wrong object.
 */
export const locate: KmipOperation = {
  name: 'Locate',
  access: signedIn,
  async act(payload, context) {
    const criteria = readCriteria(await resolveLinks(payload, context), context.version)
    const { services, principal, objects, now } = context
    const located = await search(services, principal.name, criteria, objects, now)
    const [only, ...others] = located.ids
    context.placeholder = others.length === 0 ? only : undefined
    context.audit({ details: { located: located.ids.length } })
    if (await services.roles.officers.isActive(principal.name)) context.audit(officerAccess)
    return [toLocatedItems(criteria, located), ...located.ids.map(uniqueIdentifier)]
  },
}

async function resolveLinks(payload: StructureNode, context: KmipContext): Promise<StructureNode> {
  const attributes = findMember(payload, Tag.Attributes)
  if (attributes?.type !== 'Structure') return payload
  const members: TtlvNode[] = []
  for (const node of attributes.value)
    members.push(await findLinkedMaster(withIdentifier(node, context), context))
  return structure(
    payload.tag,
    payload.value.map((member) => (member === attributes ? structure(Tag.Attributes, members) : member)),
  )
}

/** The total number of objects, if the list is only a page or exceeds the maximum of one answer. */
function toLocatedItems({ maxItems, offset }: Criteria, { ids, total }: Located) {
  const listSaysIt = maxItems === undefined && offset === 0 && total === ids.length
  return total === undefined || listSaysIt ? undefined : integer(Tag.LocatedItems, total)
}
