import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import type { PlainChange, UnitOutcome } from './sqlite-connection.ts'
import type { ChangeResult } from './types.ts'

/** From a serving thread to the writer: one unit to commit. */
export interface CommitMessage {
  readonly id: number
  readonly changes: readonly PlainChange[]
}

/** From the writer, one message for all units of a group that came through the same port. */
export type CommitAnswer = readonly [
  id: number,
  results: readonly ChangeResult[] | undefined,
  error: readonly [name: string, reason: string, index: number] | undefined,
]

/** From the writer, once: nothing can be written any more, and why. */
export interface ProblemMessage {
  readonly problem: string
}

export function toAnswer(id: number, outcome: UnitOutcome): CommitAnswer {
  if ('results' in outcome) return [id, outcome.results, undefined]
  const { error } = outcome
  // The message of a failure is for callers; its detail, why, is for the log.
  const reason = error instanceof StorageUnavailable ? (error.detail ?? error.message) : error.message
  return [id, undefined, [error.name, reason, error instanceof GuardFailed ? error.index : 0]]
}

/** Errors lose their class between threads; this gives it back. */
export function fromAnswer([, results, error]: CommitAnswer): UnitOutcome {
  if (error === undefined) return { results: results ?? [] }
  const [name, reason, index] = error
  if (name === 'GuardFailed') return { error: new GuardFailed(index) }
  if (name === 'UniqueViolation') return { error: new UniqueViolation(reason) }
  if (name === 'StorageUnavailable') return { error: new StorageUnavailable(reason) }
  return { error: new Error(reason) }
}
