import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Credentials } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import { refusal, send } from '../admin/exchange.ts'
import { readSecretFile } from '../admin/login.ts'
import type { Prompter } from '../admin/prompter.ts'
import type { Words } from '../admin/verb.ts'
import type { Answer, HttpsClient } from '../client/index.ts'
import { type Terminal, UsageError } from '../command/command.ts'

/** Who uses the key management service, as far as the command's words say. */
export interface Account {
  readonly username: string
  readonly realm: string
  readonly passwordFile: string | undefined
  readonly tokenFile: string | undefined
  readonly totpCode: string | undefined
  /** Somebody is named: a token that lies in the environment is not meant. */
  readonly named: boolean
}

/** Credentials for one run, and how to give them back. */
export interface SignedIn {
  readonly credentials: Credentials
  end(): Promise<void>
}

/** Lines of the help that explain `readAccount`'s options. */
export const accountHelp = `Who asks:
  --token-file F        file with a token: of a session, of an issuer that the service trusts, an API token, or a
                        machine token (wt.…); - is standard input
                        else WARDER_TOKEN, unless one of the following is said
  else there is a login at the authentication service, and a logout at the end:
  --user NAME           (default admin)
  --realm R             (default _)
  --password-file F     file with the password; - is standard input
                        else WARDER_PASSWORD, else (for admin of _) HOME/initial-admin-password, else a question
  --totp-code CODE      code of the second factor, else a question`

/** @throws UsageError for a token and a login at the same time */
export function readAccount(words: Words): Account {
  const user = words.option('user')
  const realm = words.option('realm')
  const passwordFile = words.option('password-file')
  const tokenFile = words.option('token-file')
  const totpCode = words.option('totp-code')
  const named = [user, realm, passwordFile, totpCode].some((option) => option !== undefined)
  if (named && tokenFile !== undefined) {
    throw new UsageError(
      '--token-file says who asks: leave --user, --realm, --password-file and --totp-code out',
    )
  }
  return { username: user ?? 'admin', realm: realm ?? '_', passwordFile, tokenFile, totpCode, named }
}

/** A token that was given, undefined when there is none and a login is needed. */
export function givenToken({ tokenFile, named }: Account, env: Terminal['env']): Credentials | undefined {
  const fromEnv = named ? undefined : nonEmpty(env.WARDER_TOKEN)
  const token = tokenFile === undefined ? fromEnv : readSecretFile(tokenFile, 'the token').trim()
  if (token === undefined) return undefined
  return token.startsWith('wt.') ? { secretToken: token } : { bearer: token }
}

/**
 * Logs in for one run; `end` ends the session.
 * @throws StartupError with one line that helps
 */
export async function logIn(
  auth: HttpsClient,
  account: Account,
  sources: { readonly home: string; readonly env: Terminal['env']; readonly prompter: Prompter },
): Promise<SignedIn> {
  const password = await passwordOf(account, sources)
  let answer = await attempt(auth, account, password, account.totpCode)
  if (stepOf(answer) === 'TotpRequired') {
    const { prompter } = sources
    if (!prompter.interactive) {
      throw new StartupError(`${account.username} has a second factor: give its code with --totp-code`)
    }
    const code = (await prompter.ask(`TOTP code of ${account.username}: `)).trim()
    answer = await attempt(auth, account, password, code)
  }
  if (stepOf(answer) === 'ChangePassword') {
    throw new StartupError(`${account.username} must choose a new password first (POST /password)`)
  }
  const { session_id } = (answer.json ?? {}) as { session_id?: unknown }
  const token = /^_ea_=([^;]+)/.exec([answer.headers['set-cookie']].flat()[0] ?? '')?.[1]
  if (token === undefined) throw new StartupError('the authentication service gave no session')
  return {
    credentials: { bearer: token },
    async end() {
      const options = {
        method: 'DELETE',
        json: { session_ids: [session_id] },
        headers: { cookie: `_ea_=${token}` },
      }
      // What the command did is done; a session that could not be ended ends by itself.
      await auth.ask('/sessions', options).catch(() => undefined)
    },
  }
}

async function attempt(
  auth: HttpsClient,
  { username, realm }: Account,
  password: string,
  code: string | undefined,
): Promise<Answer> {
  const basic = Buffer.from(`${username}:${password}`).toString('base64')
  const answer = await send(auth, `/login?realm=${encodeURIComponent(realm)}`, {
    json: code === undefined ? {} : { totp_code: code },
    headers: { authorization: `Basic ${basic}` },
  })
  if (answer.status === 200) return answer
  if (answer.status !== 401) throw refusal(answer)
  throw new StartupError(`the login of ${username} to realm ${realm} was refused`)
}

async function passwordOf(
  { username, realm, passwordFile }: Account,
  {
    home,
    env,
    prompter,
  }: { readonly home: string; readonly env: Terminal['env']; readonly prompter: Prompter },
): Promise<string> {
  if (passwordFile !== undefined) return readSecretFile(passwordFile)
  const fromEnv = nonEmpty(env.WARDER_PASSWORD)
  if (fromEnv !== undefined) return fromEnv
  const initial = join(home, 'initial-admin-password')
  if (username === 'admin' && realm === '_' && existsSync(initial)) return readSecretFile(initial)
  if (!prompter.interactive) {
    throw new StartupError(
      'nobody is logged in: give --token-file FILE, --password-file FILE (- is standard input), WARDER_TOKEN or WARDER_PASSWORD',
    )
  }
  return prompter.askSecret(`Password of ${username} in realm ${realm}: `)
}

function stepOf(answer: Answer): unknown {
  return ((answer.json ?? {}) as { next_step?: unknown }).next_step
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
