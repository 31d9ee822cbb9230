import type { UnitOfWork } from '@warder/keys'
import {
  Enumeration,
  enumeration,
  findMember,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import type { Principal } from '@warder/server'
import { kmipFailure } from '../failure/failure.ts'
import type { Criteria, Term } from './locate-criteria.ts'
import { type SearchServices, search } from './locate-search.ts'

interface Searching {
  readonly services: SearchServices
  readonly principal: Principal
  readonly objects: UnitOfWork
  readonly now: number
}

const masterKeyTerms: readonly Term[] = [
  { kind: 'value', node: enumeration(Tag.ObjectType, Enumeration.ObjectType.PrivateKey) },
  {
    kind: 'value',
    node: enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.CoverCrypt),
  },
]

/**
 * Replaces the JSON array of tags in a ParentLink, as clients of the deployed product write it, by the identifier of
 * the one attribute-based master key that has all these tags and that the caller may find. Other nodes are unchanged.
 *
 * @throws kmipFailure ObjectNotFound, InvalidField (several master keys)
 */
export async function findLinkedMaster(node: TtlvNode, searching: Searching): Promise<TtlvNode> {
  if (node.tag !== Tag.Link || node.type !== 'Structure') return node
  if (findMember(node, Tag.LinkType)?.value !== Enumeration.LinkType.ParentLink) return node
  const linked = findMember(node, Tag.LinkedObjectIdentifier)
  const tags = linked?.type === 'TextString' ? tagsIn(linked.value) : undefined
  if (linked === undefined || tags === undefined) return node
  const id = textString(Tag.LinkedObjectIdentifier, await masterWith(tags, searching))
  return structure(
    node.tag,
    node.value.map((member) => (member === linked ? id : member)),
  )
}

const maxTags = 16
/** Maximum number of keys with these tags that are checked, including user keys. */
const maxKeys = 1000

/** undefined: an identifier. */
function tagsIn(text: string): readonly string[] | undefined {
  if (!text.startsWith('[')) return undefined
  try {
    const list: unknown = JSON.parse(text)
    const isTags = Array.isArray(list) && list.length > 0 && list.every((tag) => typeof tag === 'string')
    return isTags && list.length <= maxTags ? list : undefined
  } catch {
    return undefined
  }
}

async function masterWith(
  tags: readonly string[],
  { services, principal, objects, now }: Searching,
): Promise<string> {
  const criteria: Criteria = {
    terms: [...masterKeyTerms, { kind: 'tags', tags: tags.filter((tag) => tag !== '_sk') }],
    storage: { online: true, archived: false, destroyed: false },
    onlyDefault: false,
    offset: 0,
    maxItems: maxKeys,
  }
  const masters: string[] = []
  for (const id of (await search(services, principal, criteria, objects, now)).ids)
    if ((await objects.read(id))?.form.abe?.kind === 'master') masters.push(id)
  const [master, another] = masters
  if (master === undefined)
    throw kmipFailure(
      'ObjectNotFound',
      'No attribute-based master key that the caller may find has these tags.',
    )
  if (another !== undefined)
    throw kmipFailure(
      'InvalidField',
      'Several attribute-based master keys have these tags: name one by its identifier.',
    )
  return master
}
