/**
 * Converts payloads between KMIP 1.x and 2.x. Differences (KMIP 2.0 §1.6):
 *
 * | 1.x | 2.x, used inside |
 * |---|---|
 * | TemplateAttribute, Common…, PrivateKey…, PublicKeyTemplateAttribute {Attribute*} | Attributes, CommonAttributes, PrivateKeyAttributes, PublicKeyAttributes {typed attributes} |
 * | Name* of a TemplateAttribute: templates that it refers to | Template {Name*} within those attributes |
 * | Template {Attribute*} | Template {Attributes} |
 * | Attribute* of Locate, Import, GetAttributes, Notify, Put, Export | one Attributes |
 * | Attribute of AddAttribute, ModifyAttribute | NewAttribute {attribute} |
 * | Attribute of a DeleteAttribute reply | CurrentAttribute {attribute} |
 * | AttributeName* of GetAttributes, GetAttributeList, DeleteAttribute | AttributeReference* |
 * | Attribute* of KeyValue | Attributes |
 * | AttributeIndex of ModifyAttribute, DeleteAttribute | AttributeIndex in the payload (2.x has none: choose the instance by it) |
 * | custom attribute `x-Name` | Attribute {VendorIdentification `x`, AttributeName `Name`, AttributeValue} |
 * | Operation Policy Name and others that 2.x dropped | Attribute of the vendor `KMIP1` |
 */
import type { OperationName } from '../tables/operations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { atLeast, type KmipVersion } from '../tables/versions.ts'
import { findMember, optional, optionalStructure, requireType } from '../ttlv/members.ts'
import {
  byteString,
  integer,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import {
  fromLegacyAttribute,
  fromLegacyName,
  toLegacyAttribute,
  toLegacyAttributes,
  toLegacyName,
} from './legacy-attributes.ts'
import { ItemRefusal } from './types.ts'

const templates: ReadonlyMap<number, number> = new Map([
  [Tag.TemplateAttribute, Tag.Attributes],
  [Tag.CommonTemplateAttribute, Tag.CommonAttributes],
  [Tag.PrivateKeyTemplateAttribute, Tag.PrivateKeyAttributes],
  [Tag.PublicKeyTemplateAttribute, Tag.PublicKeyAttributes],
])
const templateTags: ReadonlyMap<number, number> = new Map(
  [...templates].map(([legacy, tag]) => [tag, legacy]),
)

/** Operations whose 1.x payload contains single attributes instead of a template. */
const looseAttributes: ReadonlySet<OperationName> = new Set([
  'Locate',
  'Import',
  'Export',
  'Put',
  'Notify',
  'GetAttributes',
])

/** Operations whose 1.x payload refers to attributes by name. */
const namesAttributes: ReadonlySet<OperationName> = new Set([
  'GetAttributes',
  'GetAttributeList',
  'DeleteAttribute',
])

/**
 * Converts a 1.x payload to the form of 2.x. @throws ItemRefusal for unsupported contents; KmipDecodeError
 * for members of the wrong type
 */
export function fromLegacy(operation: OperationName, payload: StructureNode): StructureNode {
  const members: TtlvNode[] = []
  const loose: TtlvNode[] = []
  for (const member of payload.value) {
    const attributesTag = templates.get(member.tag)
    if (attributesTag !== undefined) {
      const attributes = fromTemplate(attributesTag, requireType(member, 'Structure'))
      if (!looseAttributes.has(operation)) members.push(attributes)
      else if (findMember(attributes, Tag.Template) === undefined) loose.push(...attributes.value)
      else throw new ItemRefusal('FeatureNotSupported', `${operation} does not accept templates.`)
    } else if (member.tag === Tag.Template) {
      const kept = fromTemplate(Tag.Attributes, requireType(member, 'Structure'))
      members.push(structure(Tag.Template, [kept]))
    } else if (member.tag === Tag.Attribute) {
      const { node, index } = fromLegacyAttribute(requireType(member, 'Structure'))
      if (looseAttributes.has(operation)) loose.push(node)
      else {
        members.push(
          structure(operation === 'DeleteAttribute' ? Tag.CurrentAttribute : Tag.NewAttribute, [node]),
        )
        if (index !== undefined) members.push(integer(Tag.AttributeIndex, index))
      }
    } else if (member.tag === Tag.AttributeName && namesAttributes.has(operation)) {
      members.push(fromLegacyName(requireType(member, 'TextString').value))
    } else members.push(withKeyValue(member, fromKeyValue))
  }
  if (loose.length > 0) members.push(structure(Tag.Attributes, loose))
  return structure(payload.tag, members)
}

/**
 * Converts a payload from the form of 2.x to a 1.x version, without members that this version does not have.
 */
export function toLegacy(
  version: KmipVersion,
  operation: OperationName,
  payload: StructureNode,
): StructureNode {
  const index = optional(payload, Tag.AttributeIndex, 'Integer')
  // Next to a name the index stays (a DeleteAttribute request); next to an attribute it moves into the
  // attribute.
  const isNamed = findMember(payload, Tag.AttributeReference) !== undefined
  const members = payload.value.flatMap((member): readonly TtlvNode[] => {
    if (member.type === 'Structure') {
      const templateTag = templateTags.get(member.tag)
      if (templateTag !== undefined) {
        const list = toLegacyAttributes(version, member)
        if (looseAttributes.has(operation)) return list
        return [structure(templateTag, [...(optionalStructure(member, Tag.Template)?.value ?? []), ...list])]
      }
      if (member.tag === Tag.Template) {
        const kept = optionalStructure(member, Tag.Attributes)
        return [structure(Tag.Template, kept === undefined ? [] : toLegacyAttributes(version, kept))]
      }
      if (member.tag === Tag.NewAttribute || member.tag === Tag.CurrentAttribute) {
        const [node] = member.value
        const attribute = node && toLegacyAttribute(version, node, index)
        return attribute === undefined ? [] : [attribute]
      }
    }
    if (member.tag === Tag.AttributeReference) {
      const name = toLegacyName(version, member)
      return name === undefined ? [] : [textString(Tag.AttributeName, name)]
    }
    if (member.tag === Tag.AttributeIndex && !isNamed) return []
    return [withKeyValue(member, (keyValue) => toKeyValue(version, operation, keyValue))]
  })
  return withAppendedTag(version, operation, structure(payload.tag, members))
}

function fromTemplate(tag: number, template: StructureNode): StructureNode {
  const names = template.value.filter((member) => member.tag === Tag.Name)
  const loose = template.value.filter((member) => member.tag !== Tag.Name)
  return structure(tag, [
    ...(names.length === 0 ? [] : [structure(Tag.Template, names)]),
    ...loose.map((member) => fromLegacyAttribute(requireType(member, 'Structure')).node),
  ])
}

/**
 * Changes the KeyValue of an object's KeyBlock, unless it has KeyWrappingData: a MAC or a signature covers
 * its bytes (KMIP 1.4 §2.1.5).
 */
function withKeyValue(object: TtlvNode, change: (keyValue: StructureNode) => StructureNode): TtlvNode {
  if (object.type !== 'Structure' || findMember(object, Tag.KeyBlock) === undefined) return object
  const changeNode = (node: TtlvNode): TtlvNode => {
    if (node.type !== 'Structure') return node
    if (node.tag === Tag.KeyBlock)
      return findMember(node, Tag.KeyWrappingData) ? node : structure(node.tag, node.value.map(changeNode))
    return node.tag === Tag.KeyValue ? change(node) : node
  }
  return structure(object.tag, object.value.map(changeNode))
}

function fromKeyValue(keyValue: StructureNode): StructureNode {
  const loose = keyValue.value.filter(({ tag }) => tag === Tag.Attribute)
  if (loose.length === 0) return keyValue
  const attributes = loose.map((attribute) => fromLegacyAttribute(requireType(attribute, 'Structure')).node)
  return structure(keyValue.tag, [
    ...keyValue.value.filter(({ tag }) => tag !== Tag.Attribute),
    structure(Tag.Attributes, attributes),
  ])
}

/** Get returns only the material: 1.x clients refuse keys with attributes inside (KMIP 1.4 §4.11). */
function toKeyValue(version: KmipVersion, operation: OperationName, keyValue: StructureNode): StructureNode {
  return structure(
    keyValue.tag,
    keyValue.value.flatMap((member): readonly TtlvNode[] => {
      if (member.tag !== Tag.Attributes || member.type !== 'Structure') return [member]
      return operation === 'Get' ? [] : toLegacyAttributes(version, member)
    }),
  )
}

/**
 * AuthenticatedEncryptionTag exists since 1.4: for older clients the tag is appended to Data. (The operation
 * handles the reverse: a Decrypt from before 1.4 without that member has the tag at the end of Data.)
 */
function withAppendedTag(
  version: KmipVersion,
  operation: OperationName,
  payload: StructureNode,
): StructureNode {
  if (operation !== 'Encrypt' || atLeast(version, '1.4')) return payload
  const tag = optional(payload, Tag.AuthenticatedEncryptionTag, 'ByteString')
  const data = optional(payload, Tag.Data, 'ByteString')
  if (tag === undefined || data === undefined) return payload
  return structure(
    payload.tag,
    payload.value.flatMap((member) => {
      if (member.tag === Tag.AuthenticatedEncryptionTag) return []
      return [member.tag === Tag.Data ? byteString(Tag.Data, concat(data, tag)) : member]
    }),
  )
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}
