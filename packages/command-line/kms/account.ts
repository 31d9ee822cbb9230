import type { Credentials } from '@warder/client'
import { UsageError, type ValuesOf } from '../commands/options.ts'
import { readTokenFile } from '../files.ts'
import type { HttpsClient } from '../https-client.ts'
import { logIn, nonEmpty } from '../login/login.ts'
import type { LoginFacts } from '../login/stored-login.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Prompter } from '../terminal/user-terminal.ts'

/** Account at the key management service from the options. */
export interface Account {
  readonly username: string
  readonly realm: string
  readonly passwordFile: string | undefined
  readonly tokenFile: string | undefined
  readonly totpCode: string | undefined
  /** An account is named, so a token in the environment is ignored. */
  readonly named: boolean
  /** The options as given; undefined: any stored login matches. */
  readonly requested: { readonly username: string | undefined; readonly realm: string | undefined }
}

/** Credentials for one run, and their release. */
export interface SignIn {
  readonly credentials: Credentials
  end(): Promise<void>
  /** Explains a rejection of the credentials of a stored login. */
  explain?(error: unknown): Promise<unknown>
}

/** Options of the account. */
export const accountOptions = {
  'token-file': {
    type: 'text',
    value: 'F',
    help: `file with a token: of a session, of a trusted issuer, an API token, or a machine token (wt.…);
- is standard input (default: WARDER_TOKEN, unless one of the following options is given;
else the session of warder login; else a login for this command, with a logout at the end)`,
  },
  user: { type: 'text', value: 'NAME', help: 'user to log in (default admin)' },
  realm: { type: 'text', value: 'R', help: 'the realm to log in to (default _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
(default: WARDER_PASSWORD, else for admin of _ HOME/initial-admin-password, else a prompt)`,
  },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor (default: a prompt)' },
} as const

/** @throws UsageError for a token and a login at the same time */
export function readAccount(values: ValuesOf<typeof accountOptions>): Account {
  const {
    user,
    realm,
    'password-file': passwordFile,
    'token-file': tokenFile,
    'totp-code': totpCode,
  } = values
  const named = [user, realm, passwordFile, totpCode].some((option) => option !== undefined)
  if (named && tokenFile !== undefined) {
    throw new UsageError(
      '--token-file cannot be combined with --user, --realm, --password-file and --totp-code',
    )
  }
  const requested = { username: user, realm }
  return {
    username: user ?? 'admin',
    realm: realm ?? '_',
    passwordFile,
    tokenFile,
    totpCode,
    named,
    requested,
  }
}

/** Reads the given token; undefined when there is none. */
export function readToken({ tokenFile, named }: Account, env: Terminal['env']): Credentials | undefined {
  const fromEnv = named ? undefined : nonEmpty(env.WARDER_TOKEN)
  const token = tokenFile === undefined ? fromEnv : readTokenFile(tokenFile)
  if (token === undefined) return undefined
  return toCredentials(token)
}

/** Whether the stored login applies: no password is given, and no other user is named. */
export function usesStoredLogin(
  { username, realm, passwordFile, totpCode, requested }: Account,
  env: Terminal['env'],
  stored: LoginFacts,
): boolean {
  if (passwordFile !== undefined || totpCode !== undefined || nonEmpty(env.WARDER_PASSWORD) !== undefined)
    return false
  if (requested.username === undefined && requested.realm === undefined) return true
  return stored.kind === 'session' && stored.username === username && stored.realm === realm
}

/** Converts a token to credentials. */
export function toCredentials(token: string): Credentials {
  return token.startsWith('wt.') ? { secretToken: token } : { bearer: token }
}

/**
 * Logs in for one run; `end` ends the session.
 * @throws StartupError that names the missing input
 */
export async function logInOnce(
  auth: HttpsClient,
  account: Account,
  sources: {
    readonly initialPassword: string | undefined
    readonly env: Terminal['env']
    readonly prompter: Prompter
  },
): Promise<SignIn> {
  const { username, realm, passwordFile, totpCode } = account
  const login = {
    username,
    realm,
    passwordFile,
    code: totpCode,
    passwordVariable: 'WARDER_PASSWORD',
    withoutPassword:
      'not logged in: run warder login, or give --token-file FILE, --password-file FILE (- is standard input), WARDER_TOKEN or WARDER_PASSWORD',
  }
  const { id, token } = await logIn(auth, login, sources)
  return {
    credentials: { bearer: token },
    async end() {
      const options = {
        method: 'DELETE',
        json: { session_ids: [id] },
        headers: { cookie: `_ea_=${token}` },
      }
      // The command has finished; a session that cannot be ended expires.
      await auth.ask('/sessions', options).catch(() => undefined)
    },
  }
}
