import {
  attributeRule,
  commonValue,
  findKeyColumns,
  indexValue,
  memberIndexName,
  objectTypes,
  readVendorName,
  toIndexText,
  typeText,
  vendorIndexName,
} from '@warder/keys'
import {
  findMask,
  jsonValue,
  memberNumber,
  memberText,
  type StructureNode,
  Tag,
  type TtlvNode,
  tagText,
  valueName,
} from '@warder/kmip-codec'
import type { SqlValue } from '@warder/storage'
import { halfLink } from '../attributes/attribute-view.ts'
import { always, type Condition, condition, narrow, rowWith, withoutRow } from './locate-condition-store.ts'
import type { Term } from './locate-criteria.ts'
import { dateAbsent, dateWithin, rangeCondition, stateCondition } from './locate-dates-store.ts'
import { dateNotSet } from './locate-match.ts'

/** The term as a condition; undefined when the database cannot help. @param now Unix milliseconds */
export function toCondition(term: Term, now: number): Condition | undefined {
  switch (term.kind) {
    case 'tags':
      return tagsCondition(term.tags)
    case 'user key':
      // No column contains it.
      return undefined
    case 'range':
      return rangeCondition(term.tag, term.from, term.to)
    case 'value':
      if (term.node.type === 'DateTime' && term.node.value === dateNotSet) return dateAbsent(term.node.tag)
      return narrow(term.node.tag, valueCondition(term.node, now))
  }
}

function tagsCondition(tags: readonly string[]): Condition {
  const [first, ...others] = tags
  if (first === undefined) return always
  const one = 'o.id IN (SELECT object_id FROM object_tag WHERE tag = ?)'
  // PostgreSQL has no NUL in text, and no object has a tag that holds one.
  const params = tags.map((tag) => tag.replaceAll('\u0000', '\ufffd'))
  return condition([one, ...others.map(() => one)].join(' AND '), params, { selective: true })
}

function valueCondition(node: TtlvNode, now: number): Condition | undefined {
  switch (node.type) {
    case 'DateTime':
      return node.value === dateNotSet ? dateAbsent(node.tag) : dateWithin(node.tag, node.value, node.value)
    case 'Structure':
      return structureCondition(node)
    case 'Enumeration':
      if (node.tag === Tag.State) return stateCondition(node.value, now)
      if (node.tag === Tag.ObjectType)
        return condition('o.object_type = ?', [valueName('ObjectType', node.value) ?? ''])
      if (node.tag === Tag.CryptographicAlgorithm) return algorithmCondition(node)
      return toStoredCondition(node)
    case 'Integer':
      if (node.tag === Tag.CryptographicLength) return condition('o.bits = ?', [node.value])
      if (node.tag === Tag.CryptographicUsageMask)
        return condition('(o.usage_mask & ?) = ?', [node.value, node.value])
      return findMask(node.tag) === undefined ? toStoredCondition(node) : undefined
    case 'TextString':
      if (node.tag === Tag.UniqueIdentifier)
        return condition('o.id = ?', [toIndexText(node.value)], { selective: true })
      return toStoredCondition(node)
    case 'ByteString':
      return node.tag === Tag.ShortUniqueIdentifier ? shortCondition(node.value) : toStoredCondition(node)
    default:
      return toStoredCondition(node)
  }
}

/** An attribute in `object_attribute`; without a row it has its common value. */
function toStoredCondition(node: TtlvNode): Condition | undefined {
  const rule = attributeRule(node.tag)
  const common = rule && commonValue(rule.name)
  if (rule === undefined) return undefined
  if (common !== undefined && common === node.value) return withoutRow(rule.name)
  if (common !== undefined) return { ...rowWith(rule.name, indexText(node)), selective: false }
  return rule.indexed ? rowWith(rule.name, indexText(node)) : undefined
}

function shortCondition(bytes: Uint8Array): Condition {
  const hex = Buffer.from(bytes).toString('hex')
  const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.*)$/, '$1-$2-$3-$4-$5')
  return condition(
    `o.id IN (SELECT id FROM managed_object WHERE id = ?
       UNION ALL SELECT object_id FROM object_attribute WHERE name = 'ShortUniqueIdentifier' AND value = ?)`,
    [uuid, hex],
    { selective: true },
  )
}

function structureCondition(node: StructureNode): Condition | undefined {
  switch (node.tag) {
    case Tag.Name:
      return nameCondition(node)
    case Tag.Link:
      return linkCondition(node)
    case Tag.Attribute:
      return vendorCondition(node)
    case Tag.CertificateIdentifier:
    case Tag.CertificateIssuer:
    case Tag.CertificateSubject:
      // Computed from stored names: no row contains the text.
      return { ...always, exact: false }
    case Tag.RevocationReason:
      return condition('o.revocation_reason IS NOT NULL', [], { exact: node.value.length === 0 })
    default:
      return membersCondition(node)
  }
}

/** Members of a structure that the database checks; the others are checked afterwards. */
const maxMembers = 4

/** The index has one row per member: two members may match rows of different instances. */
function membersCondition(node: StructureNode): Condition | undefined {
  if (attributeRule(node.tag)?.indexed !== true || node.value.length === 0) return undefined
  const rows = node.value
    .slice(0, maxMembers)
    .map((member) => rowWith(memberIndexName(tagText(node.tag), tagText(member.tag)), indexText(member)))
  return condition(
    rows.map(({ text }) => text).join(' AND '),
    rows.flatMap(({ params }) => params),
    { exact: node.value.length === 1, selective: true },
  )
}

function nameCondition(node: StructureNode): Condition | undefined {
  const name = memberText(node, Tag.NameValue)
  const type = memberNumber(node, Tag.NameType)
  if (name === undefined) return undefined
  const typed = type === undefined ? '' : ' AND name_type = ?'
  return condition(
    `o.id IN (SELECT object_id FROM object_name WHERE name = ?${typed})`,
    [toIndexText(name), ...(type === undefined ? [] : [typeText('NameType', type)])],
    { selective: true },
  )
}

/** Links are rows of `object_link`; the link between the halves of a pair is a column of both. */
function linkCondition(node: StructureNode): Condition | undefined {
  const linked = memberText(node, Tag.LinkedObjectIdentifier)
  const type = memberNumber(node, Tag.LinkType)
  if (linked === undefined) return undefined
  const id = toIndexText(linked)
  const typed = type === undefined ? '' : ' AND link_type = ?'
  const half = objectTypes.find((one) => type !== undefined && halfLink(one) === type)
  const parts = [`SELECT object_id FROM object_link WHERE linked_id = ?${typed}`]
  const params: SqlValue[] = [id, ...(type === undefined ? [] : [typeText('LinkType', type)])]
  if (type === undefined || half !== undefined) {
    const types = half === undefined ? "'PrivateKey', 'PublicKey'" : `'${half}'`
    parts.push(`SELECT id FROM managed_object WHERE linked_id = ? AND object_type IN (${types})`)
    params.push(id)
  }
  return condition(`o.id IN (${parts.join(' UNION ALL ')})`, params, { selective: true })
}

function vendorCondition(node: StructureNode): Condition | undefined {
  const named = readVendorName(node)
  if (named === undefined) return undefined
  const name = vendorIndexName(named.vendor, named.name)
  const value = node.value.find(({ tag }) => tag === Tag.AttributeValue)
  if (value !== undefined) return rowWith(name, indexText(value))
  return condition('o.id IN (SELECT object_id FROM object_attribute WHERE name = ?)', [name], {
    selective: true,
  })
}

function algorithmCondition(node: TtlvNode): Condition {
  const name = typeText('CryptographicAlgorithm', typeof node.value === 'number' ? node.value : undefined)
  const { algorithm: column, boundAlg } = findKeyColumns(name) ?? {}
  // For KMIP clients, a key that is not bound to an HMAC uses SHA-256.
  const bound = boundAlg === 'HS256' ? undefined : boundAlg
  const unbound =
    boundAlg === 'HS256' ? " AND (o.bound_alg IS NULL OR o.bound_alg NOT IN ('HS384', 'HS512'))" : ''
  const byColumn =
    bound === undefined ? `(o.algorithm IN (?, ?)${unbound})` : '(o.algorithm = ? AND o.bound_alg = ?)'
  const params = bound === undefined ? [name, column ?? name] : [column ?? name, bound]
  return condition(
    `((${byColumn} AND NOT EXISTS
         (SELECT 1 FROM object_attribute a WHERE a.object_id = o.id AND a.name = 'CryptographicAlgorithm'))
       OR o.id IN (SELECT object_id FROM object_attribute WHERE name = 'CryptographicAlgorithm' AND value = ?))`,
    [...params, indexText(node)],
  )
}

function indexText(node: TtlvNode): string {
  return indexValue(jsonValue(node))
}
