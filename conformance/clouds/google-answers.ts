import type { HttpsClient } from '@warder/command-line/https-client'
import type { Step } from 'warder/testing'

export interface KaclsAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** Sends a request without credentials beside those in the body: `ask('wrap', {...})`; without a body by GET. */
export type AskKacls = (operation: string, body?: object) => Promise<KaclsAnswer>

export function createKaclsClient(http: HttpsClient): AskKacls {
  return async (operation, body) => {
    const answer = await http.ask(`/google_cse/${operation}`, body === undefined ? {} : { json: body })
    const { json } = answer
    return { status: answer.status, json: typeof json === 'object' && json !== null ? { ...json } : {} }
  }
}

export function describeProblem({ status, json }: KaclsAnswer, expected: number): string | undefined {
  return status === expected ? undefined : `${status} ${json.message ?? ''}`.trim()
}

/** Recorded steps of an exchange. */
export interface Exchange {
  readonly done: readonly Step[]
  /** @param problem undefined: the step succeeded */
  step(what: string, problem: string | undefined): void
  /** Records a step that requires this status and, if given, this value of a member. */
  expect(
    what: string,
    answer: KaclsAnswer,
    status: number,
    member?: readonly [name: string, value: unknown],
  ): void
}

export function createExchange(): Exchange {
  const done: Step[] = []
  const step = (what: string, problem: string | undefined): void => void done.push({ what, problem })
  return {
    done,
    step,
    expect(what, answer, status, member) {
      const [name = '', value] = member ?? []
      const same = member === undefined || answer.json[name] === value
      step(what, describeProblem(answer, status) ?? (same ? undefined : `${name} differs`))
    },
  }
}
