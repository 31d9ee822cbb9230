import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/foundation/errors'
import type { Answer, HttpsClient } from '../client/index.ts'
import { type AdminApi, adminApi } from './api.ts'
import { refusal, send } from './exchange.ts'
import type { Prompter } from './prompter.ts'

/** Who runs the command. */
export interface AdminAccount {
  readonly username: string
  readonly realm: string
  /** File whose content is the password; `-` is standard input. */
  readonly passwordFile: string | undefined
  readonly code: string | undefined
}

type Env = Readonly<Record<string, string | undefined>>

interface Password {
  readonly text: string
  /** Where it came from, for who has to put it right. */
  readonly from: string
}

/**
 * Logs in and asks for what is missing: the password, and a TOTP code where the account has one.
 * @throws StartupError with one line that helps
 */
export async function logIn(
  client: HttpsClient,
  account: AdminAccount,
  sources: { readonly home: string; readonly env: Env; readonly prompter: Prompter },
): Promise<AdminApi> {
  const { prompter, env } = sources
  const password = await passwordOf(account, sources)
  const given = account.code ?? nonEmpty(env.WARDER_ADMIN_TOTP)
  let answer = await attempt(client, account, password, given)
  if (stepOf(answer) === 'TotpRequired') {
    if (!prompter.interactive) {
      throw new StartupError(`${account.username} has a second factor: give its code with --totp-code`)
    }
    const code = (await prompter.ask(`TOTP code of ${account.username}: `)).trim()
    answer = await attempt(client, account, password, code)
  }
  if (stepOf(answer) === 'ChangePassword') {
    throw new StartupError(`${account.username} must choose a new password first (POST /password)`)
  }
  const { session_id } = (answer.json ?? {}) as { session_id?: unknown }
  const cookie = /^_ea_=([^;]+)/.exec([answer.headers['set-cookie']].flat()[0] ?? '')?.[1]
  if (cookie === undefined || typeof session_id !== 'string') {
    throw new StartupError('the service let nobody in and did not say why: is it of this version?')
  }
  return adminApi(client, cookie, session_id)
}

async function attempt(
  client: HttpsClient,
  account: AdminAccount,
  password: Password,
  code: string | undefined,
): Promise<Answer> {
  const basic = Buffer.from(`${account.username}:${password.text}`).toString('base64')
  const answer = await send(client, `/login?realm=${encodeURIComponent(account.realm)}`, {
    json: code === undefined ? {} : { totp_code: code },
    headers: { authorization: `Basic ${basic}` },
  })
  if (answer.status === 200) return answer
  if (answer.status !== 401) throw refusal(answer)
  throw new StartupError(
    `the login of ${account.username} to realm ${account.realm} was refused (password from ${password.from}` +
      `${code === undefined ? ')' : ', with a TOTP code)'}`,
  )
}

async function passwordOf(
  account: AdminAccount,
  { home, env, prompter }: { readonly home: string; readonly env: Env; readonly prompter: Prompter },
): Promise<Password> {
  const { passwordFile } = account
  if (passwordFile !== undefined) {
    return {
      text: readSecretFile(passwordFile),
      from: passwordFile === '-' ? 'standard input' : passwordFile,
    }
  }
  const fromEnv = nonEmpty(env.WARDER_ADMIN_PASSWORD)
  if (fromEnv !== undefined) return { text: fromEnv, from: 'WARDER_ADMIN_PASSWORD' }
  const initial = join(home, 'initial-admin-password')
  if (account.username === 'admin' && account.realm === '_' && existsSync(initial)) {
    return { text: readSecretFile(initial), from: initial }
  }
  if (!prompter.interactive) {
    throw new StartupError(
      'there is no password: give --password-file FILE (- is standard input) or WARDER_ADMIN_PASSWORD',
    )
  }
  const text = await prompter.askSecret(`Password of ${account.username} in realm ${account.realm}: `)
  return { text, from: 'the prompt' }
}

/** A secret from a file; one line end at its end belongs to the file, not to the secret. @throws StartupError */
export function readSecretFile(file: string, what = 'the password'): string {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '' || /[\r\n]/.test(secret)) {
    const source = file === '-' ? 'standard input' : file
    throw new StartupError(`${source}: must hold one line, ${what}`)
  }
  return secret
}

function stepOf(answer: Answer): string {
  const { next_step } = (answer.json ?? {}) as { next_step?: unknown }
  return typeof next_step === 'string' ? next_step : ''
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
