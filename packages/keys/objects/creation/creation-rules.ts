import {
  Enumeration,
  findMember,
  findMembers,
  requireType,
  type StructureNode,
  sameValue,
  structure,
  Tag,
  type TtlvNode,
  tagText,
  valueName,
} from '@warder/kmip-codec'
import { type AttributeRule, attributeRules } from '../../attributes/attribute-table.ts'
import type { ObjectType } from '../managed-object.ts'
import { refusal } from '../refusal.ts'

const byTag = new Map(attributeRules.map((rule) => [rule.tag, rule]))

/** The rule of an attribute by its tag; undefined when the tag is not that of an attribute. */
export function attributeRule(tag: number): AttributeRule | undefined {
  return byTag.get(tag)
}

/** @throws Refusal InvalidAttribute */
export function requireRule(tag: number): AttributeRule {
  const rule = attributeRule(tag)
  if (rule === undefined) throw refusal('InvalidAttribute', `${tagText(tag)} is no attribute.`)
  return rule
}

/** A user's rules for all of their new objects. */
export interface CreationRules {
  /**
   * DefaultsInformation (KMIP 2.1 §7.11, §7.22): attributes that new objects of a type or group get unless the request
   * contains them.
   */
  readonly defaults: StructureNode | undefined
  /** Constraints (KMIP 2.1 §7.6, §7.7): required attributes of new objects of a type or group. */
  readonly constraints: StructureNode | undefined
}

export const noRules: CreationRules = { defaults: undefined, constraints: undefined }

/** Rules of one user, in each of the two lists. */
const maxRules = 100
const maxAttributes = 100

/** @throws Refusal InvalidField …, KmipDecodeError */
export function checkDefaults(given: StructureNode): StructureNode {
  const rules = findMembers(given, Tag.ObjectDefaults).map((node) => requireType(node, 'Structure'))
  requireFew(rules)
  for (const rule of rules) {
    requireScope(rule)
    if (readTypes(rule) === undefined)
      throw refusal('MissingData', 'ObjectDefaults name an ObjectType or ObjectTypes.')
    requireAttributes(rule)
  }
  return structure(Tag.DefaultsInformation, rules)
}

/**
 * The standard allows a constraint without attributes. It would have no effect, so it is refused.
 * @throws Refusal InvalidField …, KmipDecodeError
 */
export function checkConstraints(given: StructureNode): StructureNode {
  const rules = findMembers(given, Tag.Constraint).map((node) => requireType(node, 'Structure'))
  requireFew(rules)
  for (const rule of rules) {
    requireScope(rule)
    requireAttributes(rule)
  }
  return structure(Tag.Constraints, rules)
}

/** A rule must name at least one object type or group. @throws Refusal InvalidField, KmipDecodeError */
function requireScope(rule: StructureNode): void {
  for (const node of readTypes(rule) ?? []) {
    if (node.tag !== Tag.ObjectType || node.type !== 'Enumeration')
      throw refusal('InvalidField', 'ObjectTypes must contain object types.')
    if (valueName('ObjectType', node.value) === undefined)
      throw refusal('InvalidObjectType', 'A rule names an object type that is not known here.')
  }
  for (const list of findMembers(rule, Tag.ObjectGroups))
    for (const node of requireType(list, 'Structure').value)
      if (node.tag !== Tag.ObjectGroup || node.type !== 'TextString')
        throw refusal('InvalidField', 'ObjectGroups must contain object groups.')
}

/** The object types of a rule: one or a list (KMIP 2.1 §7.22); undefined: the rule names none. */
function readTypes(rule: StructureNode): readonly TtlvNode[] | undefined {
  const list = findMember(rule, Tag.ObjectTypes)
  if (list !== undefined) return requireType(list, 'Structure').value
  const one = findMember(rule, Tag.ObjectType)
  return one === undefined ? undefined : [one]
}

function requireFew(rules: readonly StructureNode[]): void {
  if (rules.length > maxRules) throw refusal('ServerLimitExceeded', `At most ${maxRules} rules are kept.`)
}

function requireAttributes(rule: StructureNode): void {
  const attributes = listRuleAttributes(rule)
  if (attributes.length > maxAttributes)
    throw refusal('ServerLimitExceeded', `A rule names at most ${maxAttributes} attributes.`)
  for (const { tag, type } of attributes) {
    const known = requireRule(tag)
    if (known.readOnly) throw refusal('AttributeReadOnly', 'DENIED')
    if (known.type !== type) throw refusal('InvalidAttributeValue', `${known.name} is of another type.`)
  }
}

function listRuleAttributes(rule: StructureNode): readonly TtlvNode[] {
  const attributes = findMember(rule, Tag.Attributes)
  if (attributes === undefined) throw refusal('MissingData', 'Attributes are missing.')
  return requireType(attributes, 'Structure').value
}

/** The client's attributes of a new object, completed with defaults; the first of two defaults applies. */
export function withDefaults(
  { defaults }: CreationRules,
  type: ObjectType,
  said: readonly TtlvNode[],
): readonly TtlvNode[] {
  if (defaults === undefined) return said
  const all = [...said]
  for (const rule of rulesIn(defaults)) {
    if (!concerns(rule, type, said)) continue
    const tags = new Set(all.map(({ tag }) => tag))
    all.push(...listRuleAttributes(rule).filter(({ tag }) => !tags.has(tag)))
  }
  return all
}

/**
 * Checks every constraint on this type, or on a group of the object: the object must have each attribute that the
 * constraint names, with one of the named values (a usage mask: with no other bits).
 * @throws Refusal ConstraintViolation
 */
export function requireWithin(
  { constraints }: CreationRules,
  type: ObjectType,
  attributes: readonly TtlvNode[],
): void {
  if (constraints === undefined) return
  for (const rule of rulesIn(constraints)) {
    if (!concerns(rule, type, attributes)) continue
    const allowed = listRuleAttributes(rule)
    for (const tag of new Set(allowed.map((node) => node.tag))) {
      const has = attributes.filter((node) => node.tag === tag)
      const values = allowed.filter((node) => node.tag === tag)
      if (has.length === 0 || !has.every((node) => values.some((value) => permits(value, node))))
        throw refusal('ConstraintViolation', `${requireRule(tag).name} is not within the constraints.`)
    }
  }
}

function concerns(rule: StructureNode, type: ObjectType, attributes: readonly TtlvNode[]): boolean {
  const types = readTypes(rule)
  if (types !== undefined && !types.some(({ value }) => value === Enumeration.ObjectType[type])) return false
  const groups = findMember(rule, Tag.ObjectGroups)
  if (groups?.type !== 'Structure') return true
  return attributes.some(
    (node) => node.tag === Tag.ObjectGroup && groups.value.some((group) => sameValue(group, node)),
  )
}

function permits(allowed: TtlvNode, node: TtlvNode): boolean {
  if (allowed.tag === Tag.CryptographicUsageMask && allowed.type === 'Integer' && node.type === 'Integer')
    return (node.value & ~allowed.value) === 0
  return sameValue(allowed, node)
}

function rulesIn(list: StructureNode): readonly StructureNode[] {
  return list.value.filter((node) => node.type === 'Structure')
}
