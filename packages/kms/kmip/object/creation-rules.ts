import { Enumeration, Tag } from '@warder/kmip/tables'
import { memberOf, membersOf, type StructureNode, structure, type TtlvNode, typed } from '@warder/kmip/ttlv'
import type { ObjectType } from '../../objects/index.ts'
import { kmipFailure } from '../engine/failure.ts'
import { requireRule } from './attribute-name.ts'
import { sameValue } from './attribute-values.ts'

/** What a user wants of every new object of theirs. */
export interface CreationRules {
  /** DefaultsInformation (KMIP 2.1 §7.10): attributes that new objects of a type get when nothing is said of them. */
  readonly defaults: StructureNode | undefined
  /** Constraints (KMIP 2.1 §7.8): what attributes new objects of a type or group must have. */
  readonly constraints: StructureNode | undefined
}

export const noRules: CreationRules = { defaults: undefined, constraints: undefined }

/** Rules of one user, in each of the two lists. */
const mostRules = 100
const mostAttributes = 100

/** @throws kmipFailure InvalidField …, KmipDecodeError */
export function checkedDefaults(given: StructureNode): StructureNode {
  const rules = membersOf(given, Tag.ObjectDefaults).map((node) => typed(node, 'Structure'))
  requireFew(rules)
  for (const rule of rules) {
    if (memberOf(rule, Tag.ObjectType)?.type !== 'Enumeration')
      throw kmipFailure('MissingData', 'ObjectDefaults name an ObjectType.')
    requireAttributes(rule)
  }
  return structure(Tag.DefaultsInformation, rules)
}

/** @throws kmipFailure InvalidField …, KmipDecodeError */
export function checkedConstraints(given: StructureNode): StructureNode {
  const rules = membersOf(given, Tag.Constraint).map((node) => typed(node, 'Structure'))
  requireFew(rules)
  for (const rule of rules) {
    requireAttributes(rule)
    for (const tag of [Tag.ObjectTypes, Tag.ObjectGroups]) {
      const list = memberOf(rule, tag)
      if (list !== undefined) typed(list, 'Structure')
    }
  }
  return structure(Tag.Constraints, rules)
}

function requireFew(rules: readonly StructureNode[]): void {
  if (rules.length > mostRules)
    throw kmipFailure('ServerLimitExceeded', `At most ${mostRules} rules are kept.`)
}

function requireAttributes(rule: StructureNode): void {
  const attributes = attributesOfRule(rule)
  if (attributes.length > mostAttributes)
    throw kmipFailure('ServerLimitExceeded', `A rule names at most ${mostAttributes} attributes.`)
  for (const { tag, type } of attributes) {
    const known = requireRule(tag)
    if (known.readOnly) throw kmipFailure('AttributeReadOnly', 'DENIED')
    if (known.type !== type) throw kmipFailure('InvalidAttributeValue', `${known.name} is of another type.`)
  }
}

function attributesOfRule(rule: StructureNode): readonly TtlvNode[] {
  const attributes = memberOf(rule, Tag.Attributes)
  if (attributes === undefined) throw kmipFailure('MissingData', 'Attributes are missing.')
  return typed(attributes, 'Structure').value
}

/** What a client says of a new object, and the defaults for what it does not say. */
export function withDefaults(
  { defaults }: CreationRules,
  type: ObjectType,
  said: readonly TtlvNode[],
): readonly TtlvNode[] {
  if (defaults === undefined) return said
  const tags = new Set(said.map(({ tag }) => tag))
  const missing = rulesIn(defaults)
    .filter((rule) => memberOf(rule, Tag.ObjectType)?.value === Enumeration.ObjectType[type])
    .flatMap(attributesOfRule)
    .filter(({ tag }) => !tags.has(tag))
  return missing.length === 0 ? said : [...said, ...missing]
}

/**
 * Every constraint on this type, or on a group that the object is in, names attributes: the object must have each of
 * them, with one of the values that are named (a usage mask: with no other bits).
 * @throws kmipFailure ConstraintViolation
 */
export function requireWithin(
  { constraints }: CreationRules,
  type: ObjectType,
  attributes: readonly TtlvNode[],
): void {
  if (constraints === undefined) return
  for (const rule of rulesIn(constraints)) {
    if (!concerns(rule, type, attributes)) continue
    const allowed = attributesOfRule(rule)
    for (const tag of new Set(allowed.map((node) => node.tag))) {
      const has = attributes.filter((node) => node.tag === tag)
      const values = allowed.filter((node) => node.tag === tag)
      if (has.length === 0 || !has.every((node) => values.some((value) => permits(value, node))))
        throw kmipFailure('ConstraintViolation', `${requireRule(tag).name} is not within the constraints.`)
    }
  }
}

function concerns(rule: StructureNode, type: ObjectType, attributes: readonly TtlvNode[]): boolean {
  const types = listed(rule, Tag.ObjectTypes)
  if (types !== undefined && !types.some(({ value }) => value === Enumeration.ObjectType[type])) return false
  const groups = listed(rule, Tag.ObjectGroups)
  if (groups === undefined) return true
  return attributes.some(
    (node) => node.tag === Tag.ObjectGroup && groups.some((group) => sameValue(group, node)),
  )
}

function permits(allowed: TtlvNode, node: TtlvNode): boolean {
  if (allowed.tag === Tag.CryptographicUsageMask && allowed.type === 'Integer' && node.type === 'Integer')
    return (node.value & ~allowed.value) === 0
  return sameValue(allowed, node)
}

function listed(rule: StructureNode, tag: number): readonly TtlvNode[] | undefined {
  const list = memberOf(rule, tag)
  return list?.type === 'Structure' ? list.value : undefined
}

function rulesIn(list: StructureNode): readonly StructureNode[] {
  return list.value.filter((node) => node.type === 'Structure')
}
