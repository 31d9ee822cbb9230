import type { KmsClient } from '@warder/client'

/** What a verb works with, once it is known who asks. */
export interface KmsContext {
  readonly kms: KmsClient
  /** Aborted by Ctrl-C and the like: what is under way has to leave nothing behind. */
  readonly signal: AbortSignal
  /** Prints lines for people, or with `--json` one document for programs. */
  show(document: unknown, lines: readonly string[]): void
  /** A line that is no result: to standard error. */
  note(line: string): void
  /** Asks before something is lost; `--yes` answers for everything. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
  /** Shows on a terminal how far a long work is; nothing where nobody looks. */
  progress(done: number, size: number): void
  /** Standard input to its end. @throws StartupError when there are more than `most` bytes */
  readInput(most: number): Promise<Buffer>
  /** Bytes to standard output, as they are. */
  writeOutput(bytes: Uint8Array): Promise<void>
}

/** One thing that `warder keys`, `crypto` or `access` does. */
export interface KmsVerb {
  readonly name: string
  /** Words after the name, as the help shows them. */
  readonly words: string
  /** One line, for the list of verbs. */
  readonly summary: string
  /** The rest of its own help: what its options mean, what one has to know. */
  readonly about: string
  /** Lines that can be typed as they are. */
  readonly examples: readonly string[]
  /** Whether these words make it read standard input, which nothing else may read then. */
  readonly readsInput?: (args: readonly string[]) => boolean
  /** What to tell who interrupts it. */
  readonly interrupted?: string
  /**
   * Reads its words before anybody is asked for a password. What it returns does the work and gives the exit code.
   * @throws UsageError
   */
  parse(args: readonly string[]): (context: KmsContext) => Promise<number>
}
