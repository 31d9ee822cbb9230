import type { Readable } from 'node:stream'
import type { KmsClient } from '@warder/client'
import type { Options, Values, ValuesOf } from '../cli/options.ts'
import type { Verb } from '../cli/verbs.ts'
import type { ServiceEndpoints } from './service-endpoints.ts'

/** Context of a verb, once the caller is known. */
export interface KmsContext {
  readonly kms: KmsClient
  /** Its address, for other protocols. */
  readonly endpoints: ServiceEndpoints
  /** Environment of the command. */
  readonly env: Readonly<Record<string, string | undefined>>
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
  /** Standard input to its end. @throws StartupError when there are more than `maxBytes` bytes */
  readInput(maxBytes: number): Promise<Buffer>
  /** Standard input, for what reads it piece by piece. */
  readonly input: Readable
  /** Bytes to standard output, as they are. */
  writeOutput(bytes: Uint8Array): Promise<void>
}

/** One thing that `warder keys`, `crypto` or `access` does. */
export interface KmsVerb extends Verb {
  readonly about: string
  /** Whether it reads standard input, which nothing else may read then. */
  readonly readsInput?: (names: readonly string[]) => boolean
  /** Message for a person who interrupts it. */
  readonly interrupted?: string
  /**
   * Checks its arguments before anybody is asked for a password. What it returns does the work and gives the exit code.
   * @throws UsageError
   */
  parse(values: Values, names: readonly string[]): (context: KmsContext) => Promise<number>
}

/** A verb whose `parse` gets the values of the options that it declares. */
export function kmsVerb<const O extends Options>(
  verb: Omit<KmsVerb, 'options' | 'parse'> & {
    readonly options: O
    parse(values: ValuesOf<O>, names: readonly string[]): ReturnType<KmsVerb['parse']>
  },
): KmsVerb {
  // `cli/verbs.ts` reads the values of exactly these options.
  return verb as KmsVerb
}
