import { Tag } from '@warder/kmip/tables'
import { boolean, interval, type TtlvNode } from '@warder/kmip/ttlv'
import { linkedObject, type ManagedObject, shortestInterval } from '../../../keys/index.ts'
import { renewsItself } from './renewal-due.ts'
import { attributeMembers, storedAttributes, storedWithTag } from './stored-attributes.ts'

// `RotateAutomatic`, `RotateInterval` and `RotateOffset` of a key (KMIP 2.1 §4.52, §4.54, §4.56) are its schedule, which REST
// calls `rotate_every`: stored on generation 0 and on the newest version, which clients name, as one (docs/adr/0117).

const tags: ReadonlySet<number> = new Set([Tag.RotateAutomatic, Tag.RotateInterval, Tag.RotateOffset])

/** Schedule in the columns. Seconds; undefined = it is not rotated by time. */
export interface AttributeSchedule {
  readonly rotateEvery: number | undefined
  /** Before the first interval begins, seconds. */
  readonly rotateOffset: number | undefined
}

/** Is it rotated by the service, and not renewed together with its certificate (`renewal-due.ts`)? */
export function hasOwnSchedule(object: ManagedObject): boolean {
  const { type, form } = object
  if (form.abe !== undefined) return false
  return type === 'SymmetricKey' || (type === 'PrivateKey' && !linkedObject(object, 'CertificateLink'))
}

/** An interval of less than the shortest one that the service keeps counts as that. */
export function scheduleIn(object: ManagedObject): AttributeSchedule {
  const every = secondsOf(object, Tag.RotateInterval)
  if (!renewsItself(object) || every === 0) return { rotateEvery: undefined, rotateOffset: undefined }
  const offset = secondsOf(object, Tag.RotateOffset)
  return { rotateEvery: Math.max(every, shortestInterval), rotateOffset: offset === 0 ? undefined : offset }
}

function secondsOf(object: ManagedObject, tag: number): number {
  const value = storedWithTag(object, tag).at(-1)?.value
  return typeof value === 'number' ? value : 0
}

/** Whether an edit said anything else about the schedule. */
export function isScheduleChanged(before: ManagedObject, after: ManagedObject): boolean {
  const said = (object: ManagedObject) => [...tags].map((tag) => storedWithTag(object, tag).at(-1)?.value)
  const earlier = said(before)
  return said(after).some((value, index) => value !== earlier[index])
}

/** The attributes of `object` with the schedule that `from` has. */
export function withScheduleOf(object: ManagedObject, from: ManagedObject): Pick<ManagedObject, 'kmip'> {
  return withSchedule(
    object,
    storedAttributes(from).filter(({ tag }) => tags.has(tag)),
  )
}

/** The attributes of an object whose schedule another protocol has set: what clients of KMIP read. @param every seconds */
export function saidSchedule(object: ManagedObject, every: number | undefined): Pick<ManagedObject, 'kmip'> {
  if (!hasOwnSchedule(object)) return { kmip: object.kmip }
  const nodes = every === undefined ? [] : [interval(Tag.RotateInterval, every)]
  return withSchedule(object, [boolean(Tag.RotateAutomatic, every !== undefined), ...nodes])
}

function withSchedule(object: ManagedObject, nodes: readonly TtlvNode[]): Pick<ManagedObject, 'kmip'> {
  const others = storedAttributes(object).filter(({ tag }) => !tags.has(tag))
  return { kmip: attributeMembers([...others, ...nodes], object).kmip }
}
