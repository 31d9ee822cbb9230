import { maxInvocations } from './gcm-budget-store.ts'
import { minMessages } from './rotation-policy.ts'

/** Count of the AES-GCM messages of a version. */
export interface CountedMessages {
  /** Counted in blocks: what processes have reserved. */
  readonly reserved: number
  /** The highest announced number of messages; 0 = none. */
  readonly told: number
}

/** The action of the service for a version that has encrypted so many messages. */
export type BudgetStep = 'rotate' | 'announce' | 'warn' | 'wait'

/** Limits of the messages of a version. */
export interface MessageLimit {
  /** Messages after which it is rotated; undefined: nothing rotates it by use. */
  readonly limit: number | undefined
  /** Whether rotations are announced at all. */
  readonly announced: boolean
}

/** Messages from which the end of a number of them is announced: 90 %. */
export function noticeFrom(limit: number): number {
  return Math.ceil(limit * 0.9)
}

/** Messages from which nothing but a rotation keeps the key from stopping soon. */
export const endingFrom = noticeFrom(maxInvocations)

/** No version encrypts so many. */
const never = maxInvocations + 1

/** Whether it is to be said that the budget ends. */
export function isEnding({ reserved, told }: CountedMessages): boolean {
  return reserved >= endingFrom && told < maxInvocations
}

export function budgetStep(counted: CountedMessages, { limit, announced }: MessageLimit): BudgetStep {
  const { reserved, told } = counted
  if (limit === undefined) return isEnding(counted) ? 'warn' : 'wait'
  if (reserved >= limit) return 'rotate'
  const announces = announced && limit >= minMessages && told < limit
  return announces && reserved >= noticeFrom(limit) ? 'announce' : 'wait'
}

/**
 * The number of messages at which the service checks a version next. Rotations after fewer messages than a policy can
 * set are not announced, because there would be a notice every day.
 */
export function nextLook({ reserved, told }: CountedMessages, { limit, announced }: MessageLimit): number {
  const levels =
    limit === undefined
      ? [told < maxInvocations ? endingFrom : never]
      : [...(announced && limit >= minMessages && told < limit ? [noticeFrom(limit)] : []), limit]
  return levels.find((level) => level > reserved) ?? never
}
