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
  error: readonly [name: string, message: string, index: number] | undefined,
]

export function toAnswer(id: number, outcome: UnitOutcome): CommitAnswer {
  if ('results' in outcome) return [id, outcome.results, undefined]
  const { error } = outcome
  return [id, undefined, [error.name, error.message, error instanceof GuardFailed ? error.index : 0]]
}

/** Errors lose their class between threads; this gives it back. */
export function fromAnswer([, results, error]: CommitAnswer): UnitOutcome {
  if (error === undefined) return { results: results ?? [] }
  const [name, message, index] = error
  if (name === 'GuardFailed') return { error: new GuardFailed(index) }
  if (name === 'UniqueViolation') return { error: new UniqueViolation(message) }
  if (name === 'StorageUnavailable') return { error: new StorageUnavailable(message) }
  return { error: new Error(message) }
}
