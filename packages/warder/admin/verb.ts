import type { KmsClient } from '@warder/client'
import type { Options, Values, ValuesOf } from '../cli/options.ts'
import type { Verb } from '../cli/verbs.ts'
import type { AdminApi } from './api.ts'

/** Context of a verb, once an administrator has logged in. */
export interface AdminContext {
  readonly api: AdminApi
  /** The key management service of the home, as the same administrator; undefined = `--url` names another place. */
  readonly kms: KmsClient | undefined
  /** Prints lines for people, or with `--json` one document for programs. */
  show(document: unknown, lines: readonly string[]): void
  /** Asks before something is lost; `--yes` answers for everything. @throws StartupError when it is not confirmed */
  confirm(question: string): Promise<void>
}

/** One thing that `warder admin` does. */
export interface AdminVerb extends Verb {
  /**
   * Checks its arguments before anybody is asked for a password, so that a wrong call costs no login.
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
  // `cli/verbs.ts` calls it with the values of exactly these options.
  return verb as AdminVerb
}

/** The option of verbs that work in one realm. */
export const realmOption = { type: 'text', value: 'R', required: true, help: 'the realm' } as const
