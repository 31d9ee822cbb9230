import type { KmsClient } from '@warder/client'
import type { Options, Values, ValuesOf, Verb } from '@warder/command-line'
import type { AdminApi } from './api.ts'

/** Context of a verb, after the administrator has logged in. */
export interface AdminContext {
  readonly api: AdminApi
  /** The key management service of the home, as the same administrator; undefined with `--url`. */
  readonly kms: KmsClient | undefined
  /** Prints lines for people, or with `--json` one document for programs. */
  show(document: unknown, lines: readonly string[]): void
  /** Asks for confirmation, unless `--yes` is given. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
}

/** A verb of `warder admin`. */
export interface AdminVerb extends Verb {
  /**
   * Checks the arguments before the login, so that a usage error causes no password prompt.
   * @throws UsageError
   */
  parse(values: Values, names: readonly string[]): (context: AdminContext) => Promise<void>
}

/** A verb whose `parse` gets the values of the options that it declares. */
export function adminVerb<const O extends Options>(
  verb: Verb & {
    readonly options: O
    parse(values: ValuesOf<O>, names: readonly string[]): ReturnType<AdminVerb['parse']>
  },
): AdminVerb {
  // `readVerb` calls it with the values of exactly these options.
  return verb as AdminVerb
}

/** Option of verbs that work in one realm. */
export const realmOption = { type: 'text', value: 'R', required: true, help: 'the realm' } as const
