/** What one step of a client came to. */
export interface Step {
  readonly step: string
  readonly passed: boolean
  /** What the client or the server said, where it did not pass. */
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
export function stepsOf(out: string): readonly Step[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Step)
}
