import { GuardFailed, StorageUnavailable, UniqueViolation } from './errors.ts'
import type { PlainChange, UnitOutcome } from './sqlite-connection.ts'
import type { ChangeResult } from './types.ts'

/** From a serving thread to the writer: one unit to commit. */
export interface CommitMessage {
  readonly id: number
  /** Texts that get the next numbers on this port, from 0 on. */
  readonly texts: readonly string[]
  readonly changes: readonly NumberedChange[]
}

/** A change with the number of its text, once the text has been sent: the text is the largest part of a change. */
type NumberedChange = readonly [text: number | string, params: PlainChange[1], expect: PlainChange[2]]

/** The texts of a service are some hundred; what is made up as it goes is not kept. */
const maxTexts = 1000

/** A serving thread's side of the numbers. */
export class TextNumbers {
  readonly #known = new Map<string, number>()

  /** @param post is given the message; the numbers in it hold once it has not thrown */
  send(id: number, changes: readonly PlainChange[], post: (message: CommitMessage) => void): void {
    const fresh = new Map<string, number>()
    const getNumber = (text: string): number | string => {
      const known = this.#known.get(text) ?? fresh.get(text)
      if (known !== undefined) return known
      const next = this.#known.size + fresh.size
      if (next >= maxTexts) return text
      fresh.set(text, next)
      return next
    }
    const numbered = changes.map(
      ([text, params, expect]): NumberedChange => [getNumber(text), params, expect],
    )
    post({ id, texts: [...fresh.keys()], changes: numbered })
    for (const [text, number] of fresh) this.#known.set(text, number)
  }
}

/** The writer's side of the numbers, for one port. */
export class NumberedTexts {
  readonly #texts: string[] = []

  toChanges({ texts, changes }: CommitMessage): readonly PlainChange[] {
    this.#texts.push(...texts)
    return changes.map(([text, params, expect]) => [this.#getText(text), params, expect])
  }

  #getText(text: number | string): string {
    if (typeof text === 'string') return text
    const known = this.#texts[text]
    if (known === undefined) throw new Error(`statement ${text} was not sent before`)
    return known
  }
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
