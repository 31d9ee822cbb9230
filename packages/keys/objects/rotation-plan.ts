import type { ManagedObject } from './managed-object.ts'
import type { RotationSchedule } from './rotation-policy.ts'

/** Planned rotation of a key, stored beside its row. Unix milliseconds. */
export interface RotationPlan {
  /** Of the version that the plan is about. */
  readonly generation: number
  /** Seconds; undefined: it is not rotated by time. */
  readonly every?: number | undefined
  /** When its next rotation by time is due. */
  readonly at?: number | undefined
  /** The date that was announced. */
  readonly told?: number | undefined
  /** Not tried again before: it could not be rotated. */
  readonly retry?: number | undefined
}

/** A key that cannot be rotated is tried again after so long. */
const retryMs = 86_400_000
/** Clocks of nodes that differ by less are no reason for another date. */
export const toleranceMs = 600_000

export interface Planned {
  readonly key: Pick<ManagedObject, 'rotateEvery' | 'rotateAt'>
  readonly newest: Pick<ManagedObject, 'generation' | 'createdAt'>
  /** Schedule of the key and the policy together (`resolveSchedule`). */
  readonly schedule: RotationSchedule
}

/**
 * The plan of a key, based on its previous plan. The interval of a policy counts from the creation of the newest
 * version. If that is in the future, because a clock was fast, it counts from the first check, which the plan stores.
 */
export function computeRotationPlan(
  { key, newest, schedule }: Planned,
  before: RotationPlan | undefined,
  now: number,
): RotationPlan {
  const { generation } = newest
  const same = before?.generation === generation ? before : undefined
  const { every } = schedule
  if (every === undefined) return { generation, retry: same?.retry }
  const counted = Math.min(newest.createdAt, now) + every * 1000
  const kept = newest.createdAt > now + toleranceMs && same?.every === every ? same.at : undefined
  const at = key.rotateEvery === undefined ? Math.min(kept ?? counted, counted) : key.rotateAt
  return { generation, every, at, told: same?.told, retry: same?.retry }
}

/**
 * Whether a failed rotation delays the next try. A date further away was set by a node with a fast clock and is
 * ignored.
 */
export function waitsForRetry({ retry }: RotationPlan, now: number): boolean {
  return retry !== undefined && retry > now && retry <= now + retryMs
}

/** The plan after a rotation that failed. Its next try is not announced again. */
export function afterFailure(plan: RotationPlan, at: number | undefined, now: number): RotationPlan {
  const retry = Math.min(now + retryMs, now + (plan.every ?? Number.POSITIVE_INFINITY) * 1000)
  return { ...plan, at: at ?? plan.at, told: at ?? plan.at, retry }
}

/**
 * Whether the rotation of a plan is to be announced now. One that comes more often than notices come before it is not
 * announced: there would be no day without one.
 */
export function isNoticeDue(plan: RotationPlan, noticeMs: number, now: number): boolean {
  const from = noticeFrom(plan, noticeMs)
  return from !== undefined && from <= now
}

function noticeFrom({ at, every, told }: RotationPlan, noticeMs: number): number | undefined {
  if (at === undefined || every === undefined || noticeMs === 0 || every * 1000 <= noticeMs) return undefined
  return told === at ? undefined : at - noticeMs
}

/** When the key is checked next; undefined: not before it changes. The key's own schedule has an index of its own. */
export function lookAfter(
  plan: RotationPlan,
  { rotateEvery }: Pick<ManagedObject, 'rotateEvery'>,
  noticeMs: number,
  now: number,
): number | undefined {
  const notice = noticeFrom(plan, noticeMs)
  const due = rotateEvery === undefined ? plan.at : undefined
  const dates = [notice, due].filter((date) => date !== undefined)
  if (dates.length === 0) return undefined
  const next = Math.min(...dates)
  return waitsForRetry(plan, now) ? Math.max(next, plan.retry ?? next) : next
}
