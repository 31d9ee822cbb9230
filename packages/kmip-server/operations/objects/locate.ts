import { officerAccess } from '@warder/keys'
import { Tag, type TtlvNode } from '@warder/kmip-codec'
import { defineOperation, namedObject, signedIn } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { type Criteria, locateRequest, readCriteria } from '../../locate/locate-criteria.ts'
import { type Located, search } from '../../locate/locate-search.ts'
import { findLinkedMaster } from '../../locate/tagged-master.ts'
import { definePayload, field, repeated } from '../../payloads/payload.ts'
import { withIdentifier } from '../attributes/attribute-request.ts'

/**
 * KMIP 2.1 §6.1.28: finds the identifiers of objects by their attributes, the newest first. The owner of an object,
 * users with a grant of `locate` and crypto officers find it. A single result sets the ID placeholder; otherwise it is
 * cleared, so that later items of the batch cannot use the wrong object.
 */
export const locate = defineOperation({
  name: 'Locate',
  reach: ['reveal existence', 'reveal attributes'],
  asks: ['locate'],
  access: signedIn,
  request: locateRequest,
  reply: definePayload({
    locatedItems: field.integer(Tag.LocatedItems),
    uniqueIdentifiers: repeated(namedObject),
  }),
  async handle(request, context) {
    const attributes = await resolveLinks(request.attributes, context)
    const criteria = readCriteria({ ...request, attributes }, context.version)
    const { services, principal, objects, now } = context
    const located = await search(services, principal, criteria, objects, now)
    const [only, ...others] = located.ids
    context.placeholder = others.length === 0 ? only : undefined
    context.audit({ details: { located: located.ids.length } })
    if (await services.roles.officers.isActive(principal.name)) context.audit(officerAccess)
    return { locatedItems: countLocated(criteria, located), uniqueIdentifiers: located.ids }
  },
})

async function resolveLinks(
  attributes: readonly TtlvNode[],
  context: KmipContext,
): Promise<readonly TtlvNode[]> {
  const resolved: TtlvNode[] = []
  for (const node of attributes) resolved.push(await findLinkedMaster(withIdentifier(node, context), context))
  return resolved
}

/** The total number of objects, if the list is only a page or exceeds the maximum of one answer. */
function countLocated({ maxItems, offset }: Criteria, { ids, total }: Located): number | undefined {
  const listSaysIt = maxItems === undefined && offset === 0 && total === ids.length
  return listSaysIt ? undefined : total
}
