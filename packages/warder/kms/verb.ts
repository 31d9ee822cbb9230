import type { KmsClient } from '@warder/client'

/** What a verb works with, once it is known who asks. */
export interface KmsContext {
  readonly kms: KmsClient
  /** Prints lines for people, or with `--json` one document for programs. */
  show(document: unknown, lines: readonly string[]): void
  /** Asks before something is lost; `--yes` answers for everything. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
  /** Shows on a terminal how far a long work is; nothing where nobody looks. */
  progress(done: number, size: number): void
}

/** One thing that `warder keys`, `crypto` or `access` does. */
export interface KmsVerb {
  readonly name: string
  /** Words after the name, as the help shows them. */
  readonly words: string
  readonly summary: string
  /**
   * Reads its words before anybody is asked for a password. What it returns does the work and gives the exit code.
   * @throws UsageError
   */
  parse(args: readonly string[]): (context: KmsContext) => Promise<number>
}
