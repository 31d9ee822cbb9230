import type { Credentials } from '@warder/client'
import type { Terminal } from '../cli/command.ts'
import { UsageError } from '../cli/command.ts'
import type { ValuesOf } from '../cli/options.ts'
import type { Prompter } from '../cli/prompter.ts'
import { readTokenFile } from '../cli/secret-file.ts'
import type { HttpsClient } from '../client/index.ts'
import { logIn as begin, nonEmpty } from '../login/login.ts'
import type { LoginFacts } from '../login/stored-login.ts'

/** Account at the key management service, as far as the command's words name it. */
export interface Account {
  readonly username: string
  readonly realm: string
  readonly passwordFile: string | undefined
  readonly tokenFile: string | undefined
  readonly totpCode: string | undefined
  /** Somebody is named: a token that lies in the environment is not meant. */
  readonly named: boolean
  /** As `warder login` was called with; undefined: it may be anybody's. */
  readonly requested: { readonly username: string | undefined; readonly realm: string | undefined }
}

/** Credentials for one run, and how to give them back. */
export interface SignIn {
  readonly credentials: Credentials
  end(): Promise<void>
  /** Says more of a refusal where the credentials are those of a session that lasts. */
  explain?(error: unknown): Promise<unknown>
}

/** Options that say who asks. */
export const accountOptions = {
  'token-file': {
    type: 'text',
    value: 'F',
    help: `file with a token: of a session, of an issuer that the service trusts, an API token, or a
machine token (wt.…); - is standard input
else WARDER_TOKEN, unless one of the following is said; else the session of warder login;
else there is a login at the authentication service, and a logout at the end`,
  },
  user: { type: 'text', value: 'NAME', help: 'who logs in (default admin)' },
  realm: { type: 'text', value: 'R', help: 'the realm to log in to (default _)' },
  'password-file': {
    type: 'text',
    value: 'F',
    help: `file with the password; - is standard input
else WARDER_PASSWORD, else (for admin of _) HOME/initial-admin-password, else a question`,
  },
  'totp-code': { type: 'text', value: 'CODE', help: 'code of the second factor, else a question' },
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
      '--token-file says who asks: leave --user, --realm, --password-file and --totp-code out',
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

/** A token that was given, undefined when there is none and a login is needed. */
export function readToken({ tokenFile, named }: Account, env: Terminal['env']): Credentials | undefined {
  const fromEnv = named ? undefined : nonEmpty(env.WARDER_TOKEN)
  const token = tokenFile === undefined ? fromEnv : readTokenFile(tokenFile)
  if (token === undefined) return undefined
  return toCredentials(token)
}

/** Whether the session that `warder login` keeps is meant: nobody brings a password, and nobody else is named. */
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

/** A token as the services take it. */
export function toCredentials(token: string): Credentials {
  return token.startsWith('wt.') ? { secretToken: token } : { bearer: token }
}

/**
 * Logs in for one run; `end` ends the session.
 * @throws StartupError with one line that helps
 */
export async function logIn(
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
      'nobody is logged in: give --token-file FILE, --password-file FILE (- is standard input), WARDER_TOKEN or WARDER_PASSWORD',
  }
  const { id, token } = await begin(auth, login, sources)
  return {
    credentials: { bearer: token },
    async end() {
      const options = {
        method: 'DELETE',
        json: { session_ids: [id] },
        headers: { cookie: `_ea_=${token}` },
      }
      // The command has done its work; a session that could not be ended expires by itself.
      await auth.ask('/sessions', options).catch(() => undefined)
    },
  }
}
