import {
  type AccessServices,
  checkValue,
  type ManagedObject,
  type Right,
  requireRule,
  type UnitOfWork,
} from '@warder/keys'
import {
  decodeTtlv,
  Enumeration,
  enumeration,
  isLegacy,
  type KmipVersion,
  optionalStructure,
  requireType,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import type { AuditFields } from '@warder/server'
import { kmipFailure } from '../failure/failure.ts'
import { locateRequest, readCriteria } from './locate-criteria.ts'
import { search } from './locate-search.ts'

/** Context of the search for templates: see `KmipContext`. */
export interface TemplateContext {
  readonly services: AccessServices
  readonly principal: { readonly name: string }
  readonly objects: UnitOfWork
  readonly now: number
  permitted(id: string, right: Right): Promise<ManagedObject>
  audit(fields: AuditFields): void
}

/** Members of a payload that hold attributes of new objects, and with them the names of templates (KMIP 1.4 §2.1.8). */
const places: ReadonlySet<number> = new Set([
  Tag.Attributes,
  Tag.CommonAttributes,
  Tag.PrivateKeyAttributes,
  Tag.PublicKeyAttributes,
])

/** Maximum number of templates that one request may name. */
const maxTemplates = 16

/** Whether the payload refers to templates, which is rare and requires `withTemplates`. */
export function namesTemplates(payload: StructureNode): boolean {
  return payload.value.some((member) => readNames(member).length > 0)
}

/**
 * The payload with the attributes of the templates that it names. Attributes of the request take precedence; if
 * templates contradict each other, the last one applies (KMIP 1.4 §4.1). Instances of multi-valued attributes are
 * combined.
 * @throws kmipFailure ObjectNotFound for a template that does not exist or that the caller may not get
 */
export async function withTemplates(
  payload: StructureNode,
  context: TemplateContext,
): Promise<StructureNode> {
  const members: TtlvNode[] = []
  for (const member of payload.value) {
    const names = readNames(member)
    if (names.length === 0 || member.type !== 'Structure') members.push(member)
    else members.push(structure(member.tag, await expandTemplates(member, names, context)))
  }
  return structure(payload.tag, members)
}

/** @throws kmipFailure with this reason: 2.0 removed templates */
export function requireTemplates(version: KmipVersion, reason: 'InvalidField' | 'InvalidObjectType'): void {
  if (!isLegacy(version)) throw kmipFailure(reason, 'Templates are of KMIP 1.x alone.')
}

/** Checks a template: only attributes that a client may give to an object. @throws kmipFailure */
export function checkTemplate(template: StructureNode): void {
  for (const node of listTemplateAttributes(template)) {
    const rule = requireRule(node.tag)
    if (rule.readOnly) throw kmipFailure('AttributeReadOnly', 'DENIED')
    checkValue(rule, node)
  }
}

/** Names inside a template belong to the template, not to the objects created from it (KMIP 1.0 §2.2.6). */
export function namesHeldBy(template: StructureNode): readonly TtlvNode[] {
  return listTemplateAttributes(template).filter(({ tag }) => tag === Tag.Name)
}

function readNames(member: TtlvNode): readonly TtlvNode[] {
  if (member.type !== 'Structure' || !places.has(member.tag)) return []
  return optionalStructure(member, Tag.Template)?.value ?? []
}

function listTemplateAttributes(template: StructureNode): readonly TtlvNode[] {
  return optionalStructure(template, Tag.Attributes)?.value ?? []
}

async function expandTemplates(
  attributes: StructureNode,
  names: readonly TtlvNode[],
  context: TemplateContext,
): Promise<readonly TtlvNode[]> {
  if (names.length > maxTemplates)
    throw kmipFailure('InvalidField', `At most ${maxTemplates} templates can be named.`)
  const own = attributes.value.filter(({ tag }) => tag !== Tag.Template)
  const templates: string[] = []
  let from: readonly TtlvNode[] = []
  for (const name of names) {
    const template = await templateCalled(name, context)
    templates.push(template.id)
    from = under(await attributesIn(template, context), from)
  }
  context.audit({ details: { templates } })
  return under(own, from)
}

/** Merges both lists; a single-valued attribute comes from `upper`. */
function under(upper: readonly TtlvNode[], lower: readonly TtlvNode[]): readonly TtlvNode[] {
  const said = new Set(upper.map(({ tag }) => tag))
  return [...upper, ...lower.filter(({ tag }) => !said.has(tag) || requireRule(tag).multiple)]
}

const noCriteria = locateRequest.decode(structure(Tag.RequestPayload, []))

async function templateCalled(name: TtlvNode, context: TemplateContext): Promise<ManagedObject> {
  const { services, principal, objects, now } = context
  const sought = [name, enumeration(Tag.ObjectType, Enumeration.ObjectType.Template)]
  const criteria = readCriteria({ ...noCriteria, attributes: sought })
  const { ids } = await search(services, principal, { ...criteria, maxItems: 1 }, objects, now)
  const [id] = ids
  if (id === undefined) throw kmipFailure('ObjectNotFound', 'A template that is named is not there.')
  return context.permitted(id, 'get')
}

async function attributesIn(
  template: ManagedObject,
  { objects }: TemplateContext,
): Promise<readonly TtlvNode[]> {
  const material = await objects.material(template)
  if (material === undefined) return []
  return listTemplateAttributes(requireType(decodeTtlv(material), 'Structure')).filter(
    ({ tag }) => tag !== Tag.Name,
  )
}
