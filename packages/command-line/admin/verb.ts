import type { KmsClient } from '@warder/client'
import type { Values } from '../commands/options.ts'
import { defineVerb, type Verb } from '../commands/verbs.ts'
import type { Prompter } from '../terminal/user-terminal.ts'
import type { AdminApi } from './api.ts'

/** Context of a verb, after the administrator has logged in. */
export interface AdminContext {
  readonly api: AdminApi
  /** The key management service of the home, as the same administrator; undefined with `--url`. */
  readonly kms: KmsClient | undefined
  /** Address of the authentication service. */
  readonly url: string
  readonly prompter: Prompter
  /** Prints lines to standard error, also with `--json`. */
  note(lines: readonly string[]): void
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

export const adminVerb = defineVerb<AdminVerb>()

/** Option of verbs that work in one realm. */
export const realmOption = { type: 'text', value: 'R', required: true, help: 'the realm' } as const

/** Options of every verb: the account. */
export const adminAccountOptions = {
  admin: {
    type: 'text',
    value: 'NAME',
    help: 'name of the administrator (default: the session of warder login, else admin)',
  },
  'admin-realm': { type: 'text', value: 'R', help: 'realm of the administrator (default _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
(default: WARDER_ADMIN_PASSWORD, else for admin of _ HOME/initial-admin-password, else a prompt)`,
  },
  'totp-code': {
    type: 'text',
    value: 'CODE',
    help: 'code of the second factor (default: WARDER_ADMIN_TOTP, else a prompt)',
  },
} as const

/** Options of every verb: the service and the output. */
export const adminServiceOptions = {
  home: { type: 'text', value: 'DIR', help: 'home of the running services on this machine' },
  url: {
    type: 'text',
    value: 'URL',
    help: `address of another service: https://auth.example.com:8443
(default: WARDER_AUTH_URL, with WARDER_URL)`,
  },
  'ca-file': {
    type: 'text',
    value: 'F',
    help: "certificate authority to trust (default: from HOME/endpoints.json; with --url the system's)",
  },
  context: {
    type: 'text',
    value: 'NAME',
    help: 'services that warder login --url remembered (default: the current context, see warder context)',
  },
  json: { type: 'flag', help: 'prints one JSON document instead of a table' },
  yes: { type: 'flag', help: 'does not ask before something is replaced, ended or deleted' },
} as const

export const adminOptions = { ...adminAccountOptions, ...adminServiceOptions } as const
