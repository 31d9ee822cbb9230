import type { Answer } from '@warder/command-line/https-client'

/** A step failed, and the run stops. */
export class TryFailed extends Error {
  override readonly name = 'TryFailed'
}

export interface Steps {
  /** Runs one step and shows its result in one line. */
  step<R>(what: string, run: () => Promise<R>, show: (result: R) => string): Promise<R>
  readonly passed: number
}

export function createSteps(out: (line: string) => void): Steps {
  let passed = 0
  return {
    async step(what, run, show) {
      try {
        const result = await run()
        passed += 1
        out(`  ok  ${what.padEnd(46)} ${show(result)}`)
        return result
      } catch (error) {
        out(`  NO  ${what.padEnd(46)} ${error instanceof Error ? error.message : String(error)}`)
        throw error instanceof TryFailed ? error : new TryFailed(what, { cause: error })
      }
    },
    get passed() {
      return passed
    },
  }
}

/** Requires this status. @returns the JSON object of the response */
export function expectJson(answer: Answer, status: number): Readonly<Record<string, unknown>> {
  expectStatus(answer, status)
  if (typeof answer.json !== 'object' || answer.json === null) {
    throw new TryFailed(`expected a JSON object, got: ${answer.text.slice(0, 200)}`)
  }
  return answer.json as Readonly<Record<string, unknown>>
}

/** @returns the status, which must be one of these */
export function expectStatus(answer: Answer, ...statuses: readonly number[]): number {
  if (!statuses.includes(answer.status)) {
    throw new TryFailed(
      `expected ${statuses.join(' or ')}, got ${answer.status}: ${answer.text.slice(0, 300)}`,
    )
  }
  return answer.status
}

export function expectText(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new TryFailed(`the answer has no ${name}`)
  return value
}

/** Shortens a long text for display. */
export function abbreviate(text: string): string {
  return text.length <= 44 ? text : `${text.slice(0, 41)}...`
}
