import type { AdminApi } from './api.ts'

/** What a verb works with, once an administrator has logged in. */
export interface VerbContext {
  readonly api: AdminApi
  /** Prints lines for people, or with `--json` one document for programs. */
  show(document: unknown, lines: readonly string[]): void
  /** Asks before something is lost; `--yes` answers for everything. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
}

/**
 * One thing that `warder admin` does. `parse` reads its words before anybody is asked for a password, so that a
 * wrong call costs no login.
 */
export interface Verb {
  readonly name: string
  /** Words after the name, as the help shows them. */
  readonly words: string
  readonly summary: string
  /** @throws UsageError */
  parse(args: readonly string[]): (context: VerbContext) => Promise<void>
}
