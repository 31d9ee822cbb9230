import type { ManagedObject } from './managed-object.ts'
import { lookEveryMs } from './running-time-store.ts'
import { type DestructionManner, stateAt, type Withholding } from './state-machine.ts'

const dayMs = 86_400_000

export interface WantedDestruction {
  /** At least 1. */
  readonly days: number
  readonly by: string
  readonly manner: DestructionManner
  /** Unix milliseconds. */
  readonly now: number
  /** From `runningTime`. */
  readonly ranMs: number
}

/** State of an object while its destruction waits. */
export function waiting({ days, by, manner, now, ranMs }: WantedDestruction): Partial<Withholding> {
  const wait = days * dayMs
  return {
    destructionAt: now + wait,
    // The count may be one interval old when it is read, so two intervals are added: it must never be too early.
    destruction: { askedAt: now, by, manner, afterRunMs: ranMs + wait + 2 * lookEveryMs, announced: 0 },
  }
}

/** State that cancels a pending destruction. */
export const restored: Partial<Withholding> = Object.freeze({
  destructionAt: undefined,
  destruction: undefined,
})

/**
 * Whether a pending destruction is to be executed: its date has passed, and the service has run for that long. A clock
 * that jumps ahead, or was behind at the time of the request, meets only the first condition.
 */
export function isDestructionDue(
  { destructionAt, destruction }: Pick<ManagedObject, 'destructionAt' | 'destruction'>,
  now: number,
  ranMs: number,
): boolean {
  if (destructionAt === undefined || destruction === undefined) return false
  return now >= destructionAt && ranMs >= destruction.afterRunMs
}

/** An object whose material a pending destruction removed at `now`: its attributes stay. */
export function destroyAfterWait(object: ManagedObject, now: number): ManagedObject {
  const compromised = stateAt(object, now) === 'Compromised'
  return {
    ...object,
    ...restored,
    state: compromised ? 'Destroyed_Compromised' : 'Destroyed',
    destroyedAt: now,
  }
}
