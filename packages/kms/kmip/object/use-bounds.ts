import { Enumeration, Tag } from '@warder/kmip/tables'
import { longInteger, type StructureNode, structure, type TtlvNode } from '@warder/kmip/ttlv'
import type { ManagedObject } from '../../objects/index.ts'
import { attributeBag, storedAttributes } from './stored-attributes.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/**
 * When an Active object may be used, and how often (KMIP 2.1 §4.39, §4.41, §4.59); undefined: without bound. It holds
 * for whoever uses the object, over KMIP or REST. Times in Unix milliseconds.
 */
export interface UseBounds {
  /** Not before: to read what was protected. */
  readonly processStart: number | undefined
  /** No longer from then on: to protect new data. */
  readonly protectStop: number | undefined
  readonly limits: StructureNode | undefined
}

const unbounded: UseBounds = Object.freeze({
  processStart: undefined,
  protectStop: undefined,
  limits: undefined,
})
/** By row that is in memory: read once for each version of it. */
const known = new WeakMap<ManagedObject, UseBounds>()

export function useBounds(object: ManagedObject): UseBounds {
  if (object.attributes.kmip === undefined) return unbounded
  const before = known.get(object)
  if (before !== undefined) return before
  let { processStart, protectStop, limits } = unbounded
  for (const node of storedAttributes(object)) {
    if (node.type === 'DateTime' && node.tag === Tag.ProcessStartDate) processStart = node.value * 1000
    else if (node.type === 'DateTime' && node.tag === Tag.ProtectStopDate) protectStop = node.value * 1000
    else if (node.type === 'Structure' && node.tag === Tag.UsageLimits) limits ??= node
  }
  const bounds: UseBounds = { processStart, protectStop, limits }
  known.set(object, bounds)
  return bounds
}

/** Do its dates let it protect new data now, or process what was protected before? Whatever its state. */
export function datesAllow(object: ManagedObject, what: 'protect' | 'process', now: number): boolean {
  const { processStart, protectStop } = useBounds(object)
  return what === 'protect'
    ? protectStop === undefined || now < protectStop
    : processStart === undefined || now >= processStart
}

/** Is it used for nothing until somebody recovers it (KMIP 2.1 §6.1.4)? What is destroyed cannot be recovered. */
export function isArchived({ attributes, destroyedAt }: ManagedObject): boolean {
  return attributes.archivedAt !== undefined && destroyedAt === undefined
}

/**
 * Stages a use of an object that has usage limits. The object's version guards it, and it is committed before the answer
 * goes out: two at once never use more than there is.
 * @param bytes of data that are protected; a use that is counted by objects is taken with the first part only
 * @returns false: not so much is left, and nothing is staged
 */
export function stageUse(objects: UnitOfWork, object: ManagedObject, bytes: number, first: boolean): boolean {
  const { limits } = useBounds(object)
  if (limits === undefined) return true
  const unit = limits.value.find(({ tag }) => tag === Tag.UsageLimitsUnit)?.value
  const amount = unit === Enumeration.UsageLimitsUnit.Byte ? bytes : Number(first)
  const left = usageLeft(limits)
  if (left < BigInt(amount) || left <= 0n) return false
  if (amount > 0) objects.update(object, { attributes: withUsageLeft(object, left - BigInt(amount)) })
  return true
}

/** What is left to use: UsageLimitsCount, at first the total. */
export function usageLeft(limits: StructureNode): bigint {
  const long = (tag: number): bigint | undefined => {
    const node = limits.value.find((member) => member.tag === tag)
    return node?.type === 'LongInteger' ? node.value : undefined
  }
  return long(Tag.UsageLimitsCount) ?? long(Tag.UsageLimitsTotal) ?? 0n
}

/** The attributes of an object of which `left` is left to use. */
export function withUsageLeft(object: ManagedObject, left: bigint): ManagedObject['attributes'] {
  const nodes = storedAttributes(object).map(
    (node): TtlvNode =>
      node.tag === Tag.UsageLimits && node.type === 'Structure' ? counted(node, left) : node,
  )
  return attributeBag(object.attributes, nodes)
}

function counted(limits: StructureNode, left: bigint): StructureNode {
  const others = limits.value.filter(({ tag }) => tag !== Tag.UsageLimitsCount)
  const at = others.findIndex(({ tag }) => tag === Tag.UsageLimitsTotal) + 1
  const count = longInteger(Tag.UsageLimitsCount, left)
  return structure(limits.tag, [...others.slice(0, at), count, ...others.slice(at)])
}
