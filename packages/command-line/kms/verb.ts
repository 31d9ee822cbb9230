import type { Readable } from 'node:stream'
import type { AuthClient, KmsClient } from '@warder/client'
import { type Options, UsageError, type Values, type ValuesOf } from '../commands/options.ts'
import type { Verb } from '../commands/verbs.ts'
import type { ServiceEndpoints } from './service-endpoints.ts'

/** Context of a verb, after authentication. */
export interface KmsContext {
  readonly kms: KmsClient
  /**
   * Opens a client of the authentication service with the same session; the command closes it.
   * @throws StartupError when its address is not known, or the credentials are no session
   */
  openAuth(): AuthClient
  /** Addresses of the services, for other protocols. */
  readonly endpoints: ServiceEndpoints
  /** Environment of the command. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by a stop signal; the verb must leave nothing behind. */
  readonly signal: AbortSignal
  /** Prints lines of text, or with `--json` one document. */
  show(document: unknown, lines: readonly string[]): void
  /** Prints a note to standard error. */
  note(line: string): void
  /** Asks for confirmation, unless `--yes` is given. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
  /** Shows progress on a terminal. */
  progress(done: number, size: number): void
  /** Reads standard input to its end. @throws StartupError when there are more than `maxBytes` bytes */
  readInput(maxBytes: number): Promise<Buffer>
  /** Standard input as a stream. */
  readonly input: Readable
  /** Writes bytes to standard output. */
  writeOutput(bytes: Uint8Array): Promise<void>
}

/** A verb of a command of the key management service. */
export interface KmsVerb extends Verb {
  readonly about: string
  /** Whether it reads standard input, which then cannot contain a password or a token. */
  readonly readsInput?: (names: readonly string[]) => boolean
  /** Message after an interruption. */
  readonly interrupted?: string
  /**
   * Checks the arguments before the login. @returns a function that executes the verb and returns the exit code
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
  // `commands/verbs.ts` reads the values of exactly these options.
  return verb as KmsVerb
}

/** Reads the id or alias (`alias/invoices`) of a key from an argument. @throws UsageError for an invalid one */
export function readKid(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new UsageError(`'${text}' is not the id of a key: see warder keys list`)
  return text
}

/** `--key KEY` of verbs that use one key. */
export const keyOption = {
  type: 'text',
  value: 'KEY',
  required: 'name the key: --key KEY (see warder keys list)',
  help: 'id or alias of the key',
} as const
