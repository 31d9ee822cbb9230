import {
  hasVersions,
  isTagName,
  type ManagedObject,
  passesToReplacement,
  readStoredAttributes,
  readTags,
  readVendorName,
  requireTagChange,
} from '@warder/keys'
import {
  dateTime,
  Enumeration,
  enumeration,
  findAttribute,
  findMember,
  integer,
  sameValue,
  structure,
  Tag,
  type TtlvNode,
  tagText,
  textString,
} from '@warder/kmip-codec'
import { tagsNode } from '../../attributes/attribute-vendor.ts'
import { attributeInstances } from '../../attributes/attribute-view.ts'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { field } from '../../payloads/payload.ts'

/** Attributes of the key itself: a replacement is a key of the same kind. */
const sameKind = [Tag.CryptographicAlgorithm, Tag.CryptographicLength] as const

/** Offset of a request for a replacement. */
export const offset = field.node(Tag.Offset, 'Interval')

/** Offset in seconds, if the client gives one. @throws InvalidField */
export function readOffset(node: TtlvNode | undefined): number | undefined {
  if (node === undefined) return undefined
  const seconds = typeof node.value === 'bigint' ? Number(node.value) : node.value
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds) || seconds < 0 || seconds > 0xffffffff)
    throw kmipFailure('InvalidField', 'Offset must be an interval in seconds.')
  return seconds
}

/**
 * The initial attributes of a replacement: those of the object, with dates moved by the offset, and the requested ones
 * in their place.
 * @param requested attributes of the request
 * @throws InvalidField when the client requests a key of another kind
 */
export async function copyAttributes(
  context: KmipContext,
  object: ManagedObject,
  requested: readonly TtlvNode[],
  offset: number | undefined,
): Promise<readonly TtlvNode[]> {
  for (const tag of sameKind) {
    const wish = requested.find((node) => node.tag === tag)
    const has = attributeInstances({ object, tags: [] }, tag, context.now)[0]
    if (wish !== undefined && wish.value !== has?.value)
      throw kmipFailure('InvalidField', 'The replacement of a key must have the same algorithm and length.')
  }
  const curve = curveIn(requested)
  const there = attributeInstances({ object, tags: [] }, Tag.CryptographicDomainParameters, context.now)
  if (curve !== undefined && curve !== curveIn(there))
    throw kmipFailure('InvalidField', 'The replacement of a key must be on the same curve.')
  const tags = await context.objects.tags(object)
  const own = [
    ...readStoredAttributes(object).filter((node) => isPassedOn(node) && !dates.has(node.tag)),
    ...attributeInstances({ object, tags: [] }, Tag.CryptographicAlgorithm, context.now),
    ...(object.bits === undefined ? [] : [integer(Tag.CryptographicLength, object.bits)]),
    integer(Tag.CryptographicUsageMask, object.usageMask),
    ...limitsAnew(object),
    ...moveDates(object, context.now, offset),
  ]
  const visible = tagsNode(tags.filter((tag) => !tag.startsWith('_')))
  await requireSameRights(context, object, tags, requested)
  await requireSameAttributes(context, object, visible === undefined ? own : [...own, visible], requested)
  if (offset !== undefined) await requireSameDates(context, object)
  // The tags of a version are those of its key.
  if (visible !== undefined && !hasVersions(object)) own.push(visible)
  return [...distinct(own).filter((node) => !isReplacedBy(node, requested)), ...requested]
}

/**
 * Rights are granted by tags: those of the request are permitted to who may set them on the key.
 * @throws failure('forbidden')
 */
async function requireSameRights(
  { services, principal }: KmipContext,
  object: ManagedObject,
  tags: readonly string[],
  requested: readonly TtlvNode[],
): Promise<void> {
  for (const node of requested) {
    const vendor = node.tag === Tag.Attribute ? readVendorName(node) : undefined
    if (vendor === undefined || !isTagName(vendor)) continue
    const before = tags.filter((tag) => !tag.startsWith('_'))
    await requireTagChange(services, object, principal, before, readTags(node))
  }
}

/** Attributes of the replacement alone: they do not affect its permitted use, or are compared before. */
const replacementOnly: ReadonlySet<number> = new Set([
  Tag.UniqueIdentifier,
  Tag.ObjectType,
  Tag.KeyFormatType,
  Tag.ProtectionStorageMask,
  Tag.CryptographicDomainParameters,
  ...sameKind,
])

function isPassedOn(node: TtlvNode): boolean {
  const vendor = node.tag === Tag.Attribute ? readVendorName(node)?.vendor : undefined
  return passesToReplacement(tagText(node.tag), vendor)
}

/**
 * Different attributes of a replacement require the right to modify the key: otherwise `rekey` alone could make the
 * next version extractable, remove its limits or extend its mask.
 * @param own attributes that are copied
 * @throws PermissionDenied
 */
async function requireSameAttributes(
  context: KmipContext,
  object: ManagedObject,
  own: readonly TtlvNode[],
  requested: readonly TtlvNode[],
): Promise<void> {
  const other = requested.find((node) => {
    if (replacementOnly.has(node.tag)) return false
    const known = [...own, ...attributeInstances({ object, tags: [] }, node.tag, context.now)]
    return (
      !known.some((one) => one.tag === node.tag && sameValue(one, node)) ||
      takesAway(node.tag, own, requested)
    )
  })
  if (other !== undefined)
    await requireModify(context, object, `${tagText(other.tag)} differs from that of the key`)
}

/** Whether some instances would be missing, or their order would change: the first one is often a default. */
function takesAway(tag: number, own: readonly TtlvNode[], requested: readonly TtlvNode[]): boolean {
  if (findAttribute(tag)?.multiple !== true || tag === Tag.Name || tag === Tag.Attribute) return false
  const [before, after] = [own, requested].map((nodes) => nodes.filter((node) => node.tag === tag))
  if (before === undefined || after === undefined || before.length === 0) return false
  return before.length !== after.length || before.some((node, at) => !sameValue(node, after[at] ?? node))
}

/**
 * An offset moves the deactivation, protect stop and process start dates together with the activation date.
 * @throws PermissionDenied
 */
async function requireSameDates(context: KmipContext, object: ManagedObject): Promise<void> {
  const { deactivationAt, protectStopAt, processStartAt } = object
  if ([deactivationAt, protectStopAt, processStartAt].some((at) => at !== undefined))
    await requireModify(context, object, 'Offset moves the dates of the key')
}

async function requireModify(context: KmipContext, object: ManagedObject, why: string): Promise<void> {
  for (const right of ['modifyattribute', 'setattribute'] as const)
    if (await context.holds(object, right)) return
  throw kmipFailure(
    'PermissionDenied',
    `This also requires the right modifyattribute or setattribute: ${why}. Without it the replacement must have the attributes of the key.`,
  )
}

function curveIn(attributes: readonly TtlvNode[]): unknown {
  const domain = attributes.find(({ tag }) => tag === Tag.CryptographicDomainParameters)
  return domain?.type === 'Structure' ? findMember(domain, Tag.RecommendedCurve)?.value : undefined
}

const dates: ReadonlySet<number> = new Set([
  Tag.ActivationDate,
  Tag.DeactivationDate,
  Tag.ProcessStartDate,
  Tag.ProtectStopDate,
])

/** A single-valued attribute that is both stored and a column is included once. */
function distinct(nodes: readonly TtlvNode[]): readonly TtlvNode[] {
  const seen = new Set<number>()
  return nodes.filter(({ tag }) => {
    if (findAttribute(tag)?.multiple === true) return true
    if (seen.has(tag)) return false
    seen.add(tag)
    return true
  })
}

/** A new name is added to the copied ones (TC-REKEY-1); other requested attributes replace the copied ones. */
function isReplacedBy(own: TtlvNode, requested: readonly TtlvNode[]): boolean {
  if (own.tag === Tag.Attribute) return false
  if (own.tag === Tag.Name) return requested.some((node) => sameValue(node, own))
  return requested.some(({ tag }) => tag === own.tag)
}

/** The total is copied, the count is reset (KMIP 2.1 §6.1.46). */
function limitsAnew(object: ManagedObject): readonly TtlvNode[] {
  return readStoredAttributes(object).flatMap((node) => {
    if (node.tag !== Tag.UsageLimits || node.type !== 'Structure') return []
    const members = node.value.filter(({ tag }) => tag !== Tag.UsageLimitsCount)
    return [structure(Tag.UsageLimits, members)]
  })
}

/**
 * KMIP 2.1 §6.1.46, "Computing New Dates from Offset": with an offset the new activation is now + offset and the other
 * dates keep their distance from it; without an offset they are copied.
 */
function moveDates(object: ManagedObject, now: number, offset: number | undefined): readonly TtlvNode[] {
  const { activationAt, deactivationAt } = object
  const begins = offset === undefined ? activationAt : now + offset * 1000
  const shift =
    offset === undefined || begins === undefined || activationAt === undefined ? 0 : begins - activationAt
  const moveDate = (tag: number, at: number | undefined) =>
    at === undefined ? [] : [dateTime(tag, toSeconds(at + shift))]
  const findStored = (tag: number) => {
    const node = readStoredAttributes(object).find((candidate) => candidate.tag === tag)
    return node?.type === 'DateTime' ? node.value * 1000 : undefined
  }
  return [
    ...(begins === undefined ? [] : [dateTime(Tag.ActivationDate, toSeconds(begins))]),
    ...moveDate(Tag.DeactivationDate, deactivationAt),
    ...moveDate(Tag.ProcessStartDate, findStored(Tag.ProcessStartDate)),
    ...moveDate(Tag.ProtectStopDate, findStored(Tag.ProtectStopDate)),
  ]
}

/** The latest time of a date, in Unix milliseconds (ECMA-262 §21.4.1.1). */
const latest = 8_640_000_000_000_000

/** @throws InvalidField for a date that the offset moves beyond the latest time */
function toSeconds(at: number): number {
  if (at > latest) throw kmipFailure('InvalidField', 'Offset moves a date too far.')
  return Math.floor(at / 1000)
}

export function link(type: keyof typeof Enumeration.LinkType, id: string): TtlvNode {
  return structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType[type]),
    textString(Tag.LinkedObjectIdentifier, id),
  ])
}
