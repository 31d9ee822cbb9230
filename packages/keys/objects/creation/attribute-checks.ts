import {
  Enumeration,
  encodeTtlv,
  findEnumeration,
  findMember,
  longInteger,
  memberLong,
  memberNumber,
  memberText,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  tagText,
  valueName,
} from '@warder/kmip-codec'
import type { AttributeRule } from '../../attributes/attribute-table.ts'
import { maxTags } from '../name-link-tag-store.ts'
import { refusal } from '../refusal.ts'
import { isTagName, readTags, readVendorName } from './vendor-name.ts'

const { Software, OnSystem, Hardware, OffSystem } = Enumeration.ProtectionStorageMask
/** Storage of this server: software that stores sealed keys in its own database. */
const available = Software | OnSystem
/** Storage of an HSM. */
const ofHsm = Hardware | OffSystem

/**
 * ProtectionStorageMasks (KMIP 2.1 §7.33) at any level: one of the alternatives must match the storage of this server.
 * @throws ProtectionStorageUnavailable
 */
export function requireSoftwareStorage(nodes: readonly TtlvNode[]): void {
  for (const node of nodes) {
    if (node.tag !== Tag.ProtectionStorageMasks || node.type !== 'Structure') continue
    if (!node.value.some((one) => isWithin(one, available))) throw unavailable()
  }
}

/**
 * The same for a key in an HSM, also for the attribute ProtectionStorageMask.
 * @throws ProtectionStorageUnavailable
 */
export function requireHardwareStorage(nodes: readonly TtlvNode[]): void {
  for (const node of nodes) {
    const isList = node.type === 'Structure' && listTags.has(node.tag)
    if (isList && !node.value.some((one) => isWithin(one, ofHsm))) throw unavailable()
    if (node.tag === Tag.ProtectionStorageMask && !isWithin(node, ofHsm)) throw unavailable()
  }
}

const listTags: ReadonlySet<number> = new Set([
  Tag.ProtectionStorageMasks,
  Tag.CommonProtectionStorageMasks,
  Tag.PrivateProtectionStorageMasks,
])

/**
 * The attribute ProtectionStorageMask describes where the object is stored. A client cannot set another value.
 * @throws ProtectionStorageUnavailable
 */
function requireTrueStorage(node: TtlvNode): void {
  if (!isWithin(node, available)) throw unavailable()
}

function isWithin({ tag, value }: TtlvNode, storage: number): boolean {
  return (
    tag === Tag.ProtectionStorageMask && typeof value === 'number' && (value & ~storage) === 0 && value !== 0
  )
}

function unavailable(): Error {
  return refusal('ProtectionStorageUnavailable', 'This server has no storage with such a protection.')
}

/** Maximum length of an indexed text, in bytes of UTF-8. */
const maxKeyBytes = 1024
/** Values from here on are vendor extensions (KMIP 2.1 §11). */
const firstExtension = 0x80000000

/** Source of an attribute: a client, or another server through the client that imports its object (KMIP 2.1 §6.1.25). */
export type AttributeSource = 'client' | 'server'

/**
 * Checks that the attribute can have this value.
 * @returns the value as it is stored
 * @throws Refusal InvalidAttributeValue, ApplicationNamespaceNotSupported, ProtectionStorageUnavailable
 */
export function checkValue(
  rule: AttributeRule,
  node: TtlvNode,
  source: AttributeSource = 'client',
): TtlvNode {
  if (node.type !== rule.type) throw invalid(`${rule.name} must be of type ${rule.type}.`)
  requireKnown(node)
  switch (node.type) {
    case 'Structure':
      return checkStructure(node, source)
    case 'TextString':
      if (rule.indexed) requireKey(rule.name, node.value)
      return node
    default:
      if (node.tag === Tag.ProtectionStorageMask) requireTrueStorage(node)
      return node
  }
}

function checkStructure(node: StructureNode, source: AttributeSource): TtlvNode {
  switch (node.tag) {
    case Tag.Attribute: {
      const named = readVendorName(node)
      if (named !== undefined && isTagName(named)) readTags(node)
      else if (findMember(node, Tag.AttributeValue) === undefined)
        throw invalid('A vendor attribute has a value.')
      return node
    }
    case Tag.Name:
      requireKey('NameValue', memberText(node, Tag.NameValue))
      requireMember(node, Tag.NameType)
      return node
    case Tag.Link:
      requireKey('LinkedObjectIdentifier', memberText(node, Tag.LinkedObjectIdentifier))
      requireMember(node, Tag.LinkType)
      return node
    case Tag.AlternativeName:
      requireKey('AlternativeNameValue', memberText(node, Tag.AlternativeNameValue))
      requireMember(node, Tag.AlternativeNameType)
      return node
    case Tag.ApplicationSpecificInformation:
      requireKey('ApplicationNamespace', memberText(node, Tag.ApplicationNamespace))
      // KMIP 2.1 §4.4: without the data, the client requests that the server generates it for a name space that it
      // supports.
      if (memberText(node, Tag.ApplicationData) === undefined)
        throw refusal('ApplicationNamespaceNotSupported', 'ApplicationData cannot be made here.')
      return node
    case Tag.UsageLimits:
      return checkLimits(node, source)
    case Tag.ProtectionStorageMasks:
      requireSoftwareStorage([node])
      return node
    default:
      return node
  }
}

/**
 * KMIP 2.1 §4.59: a client sets the total and the unit; the server counts the remaining uses down from the total. An
 * imported object keeps the remaining uses that the other server counted.
 */
function checkLimits(node: StructureNode, source: AttributeSource): StructureNode {
  const total = memberLong(node, Tag.UsageLimitsTotal)
  const count = memberLong(node, Tag.UsageLimitsCount)
  if (total === undefined || total < 0n)
    throw invalid('UsageLimitsTotal must be a long integer that is not negative.')
  if (count !== undefined && count !== total && source === 'client')
    throw invalid('UsageLimitsCount is counted by the server.')
  if (count !== undefined && (count < 0n || count > total))
    throw invalid('UsageLimitsCount is from 0 to the total.')
  requireMember(node, Tag.UsageLimitsUnit)
  const unit = findMember(node, Tag.UsageLimitsUnit)
  return structure(node.tag, [
    longInteger(Tag.UsageLimitsTotal, total),
    longInteger(Tag.UsageLimitsCount, count ?? total),
    unit,
  ])
}

function requireMember(parent: StructureNode, tag: number): void {
  if (memberNumber(parent, tag) === undefined) throw invalid(`${tagText(parent.tag)} needs ${tagText(tag)}.`)
}

/** Checks a text that is indexed. PostgreSQL text cannot contain NUL. */
function requireKey(name: string, text: string | undefined): void {
  if (text === undefined || text === '' || text.includes('\u0000') || Buffer.byteLength(text) > maxKeyBytes)
    throw invalid(`${name} must be text of 1 to ${maxKeyBytes} bytes without NUL.`)
}

/** Every enumeration within the value must be known here or be a vendor extension. */
function requireKnown(node: TtlvNode): void {
  if (node.type === 'Structure') {
    // The value of a vendor attribute is not interpreted.
    for (const member of node.value) if (member.tag !== Tag.AttributeValue) requireKnown(member)
    return
  }
  if (node.type !== 'Enumeration' || node.value >= firstExtension) return
  const enumeration = findEnumeration(node.tag)
  if (enumeration !== undefined && valueName(enumeration, node.value) === undefined)
    throw invalid(`${tagText(node.tag)} has a value that is not known here.`)
}

function invalid(message: string): Error {
  return refusal('InvalidAttributeValue', message)
}

/** Required order of dates (KMIP 2.1 §4.18, §4.40, §4.41); there are no other conditions on them. */
export const dateOrder: readonly (readonly [earlier: number, later: number])[] = [
  [Tag.ActivationDate, Tag.ProcessStartDate],
  [Tag.ActivationDate, Tag.DeactivationDate],
  [Tag.ProtectStopDate, Tag.DeactivationDate],
]

/** @throws Refusal InvalidAttributeValue when a date comes before one that must not be later */
export function requireAttributeDateOrder(nodes: readonly TtlvNode[]): void {
  for (const [before, after] of dateOrder) {
    const earlier = nodes.find(({ tag }) => tag === before)
    const later = nodes.find(({ tag }) => tag === after)
    if (earlier?.type !== 'DateTime' || later?.type !== 'DateTime') continue
    if (later.value < earlier.value)
      throw refusal('InvalidAttributeValue', `${tagText(after)} is before ${tagText(before)}.`)
  }
}

/**
 * Conditions across the attributes of a new object: the order of dates, and no repeated name.
 * @throws Refusal InvalidAttributeValue, NonUniqueNameAttribute
 */
export function requireConsistent(nodes: readonly TtlvNode[]): void {
  requireAttributeDateOrder(nodes)
  const names = nodes.filter(({ tag }) => tag === Tag.Name).map(nameValue)
  if (new Set(names).size < names.length) throw refusal('NonUniqueNameAttribute', 'DENIED')
}

export function nameValue(node: TtlvNode): string | undefined {
  return node.type === 'Structure' ? memberText(node, Tag.NameValue) : undefined
}

/** Maximum number of attributes without a column of one object, and their encoding in bytes. */
const maxStoredAttributes = 1000
const maxStoredBytes = 256 * 1024

/** @throws Refusal ServerLimitExceeded */
export function requireRoomFor(stored: readonly TtlvNode[], tags: readonly string[]): void {
  if (
    tags.length > maxTags ||
    stored.length > maxStoredAttributes ||
    encodeTtlv(structure(Tag.Attributes, stored)).length > maxStoredBytes
  )
    throw refusal('ServerLimitExceeded', 'The attributes of the object are too many or too large.')
}
