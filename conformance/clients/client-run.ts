/** Outcome of one step of a client. */
export interface Step {
  readonly step: string
  readonly passed: boolean
  /** Message of the client or the server, if the step did not pass. */
  readonly why?: string
}

/** One client that was run, for its test and for `docs/reference/clients.md`. */
export interface ClientReport {
  readonly client: string
  readonly version: string
  /** How it was run: the protocol, its version, the way in. */
  readonly way: string
  readonly steps: readonly Step[]
}

/** A client that is not on this machine. */
export interface MissingClient {
  readonly missing: string
}

export type ClientRun = ClientReport | MissingClient

/** One JSON object a line, as the drivers print them. */
export function parseSteps(out: string): readonly Step[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Step)
}

/**
 * Steps of a driver that ends at its first failure: the steps reported before passed, and the last output is the
 * reason.
 */
export function stepsUntilFailure(
  told: readonly string[],
  code: number | null,
  err: string,
): readonly Step[] {
  const passed = told.map((step) => ({ step, passed: true }))
  if (code === 0) return passed
  const why = err.trim().split('\n').at(-1) ?? `it ended with ${code}`
  return [...passed, { step: 'what follows', passed: false, why }]
}
