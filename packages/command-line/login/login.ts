import { existsSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { readSecretFile } from '../files.ts'
import type { Answer, HttpsClient } from '../https-client.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Prompter } from '../terminal/user-terminal.ts'
import { createRefused, readSessionToken, requireSuccess, send } from './exchange.ts'

/** The user to log in, and the sources of the credentials. */
export interface Login {
  readonly username: string
  readonly realm: string
  /** File whose content is the password; `-` is standard input. */
  readonly passwordFile: string | undefined
  /** Code of the second factor. */
  readonly code: string | undefined
  /** Name of the environment variable with the password. */
  readonly passwordVariable: string
  /** Error message if there is neither a password nor a terminal. */
  readonly withoutPassword: string
  /** true: users at a terminal without a password or with a passkey as second factor get `BrowserNeeded`. */
  readonly offersBrowser?: boolean
}

/** The user logs in with a browser: a terminal cannot use passkeys. */
export class BrowserNeeded extends StartupError {}

/** A session. */
export interface Session {
  readonly id: string
  /** Value of the session cookie; it is the bearer token too. */
  readonly token: string
}

export interface PasswordSources {
  /** File with the password of the first administrator, which may not exist; undefined: not applicable. */
  readonly initialPassword: string | undefined
  readonly env: Terminal['env']
  readonly prompter: Prompter
}

export interface Password {
  readonly text: string
  /** Its source, for error messages. */
  readonly from: string
}

/**
 * Logs in; prompts for a missing password, and for a TOTP code if the account has a second factor.
 * @throws StartupError that names the missing or wrong credential
 */
export async function logIn(client: HttpsClient, login: Login, sources: PasswordSources): Promise<Session> {
  const password = await findPassword(login, sources)
  return logInWith(client, login, password, sources)
}

async function logInWith(
  client: HttpsClient,
  login: Login,
  password: Password,
  sources: PasswordSources,
): Promise<Session> {
  const { prompter } = sources
  let answer = await requestLogin(client, login, password, login.code)
  if (getNextStep(answer) === 'TotpRequired') {
    if (!prompter.interactive) throw new StartupError(describeSecondFactor(login, answer))
    if (login.offersBrowser && !hasTotp(answer))
      throw new BrowserNeeded(
        `the second factor of ${login.username} is a passkey, which a terminal cannot use (with a recovery code: --totp-code)`,
      )
    const code = (await prompter.ask(formatCodeQuestion(login.username, answer))).trim()
    answer = await requestLogin(client, login, password, code)
  }
  if (getNextStep(answer) === 'ChangePassword') {
    if (!prompter.interactive)
      throw new StartupError(
        `${login.username} must choose a new password first: run warder login at a terminal, or POST /password`,
      )
    const chosen = await chooseNewPassword(client, login, password, prompter)
    // A TOTP code can be used only once, so the next one is requested.
    return logInWith(client, { ...login, code: undefined }, chosen, sources)
  }
  const { session_id: id } = (answer.json ?? {}) as { session_id?: unknown }
  const token = readSessionToken(answer)
  if (token === undefined || typeof id !== 'string') {
    throw new StartupError(
      'the service returned no session and no reason: check that it has the same version as this command',
    )
  }
  return { id, token }
}

/** Prompts for a new password and changes it. @throws StartupError when the service refuses it */
async function chooseNewPassword(
  client: HttpsClient,
  login: Login,
  old: Password,
  prompter: Prompter,
): Promise<Password> {
  const { username } = login
  const text = await promptNewPassword(`${username} must choose a new password. New password: `, prompter)
  let answer = await requestPasswordChange(client, login, { old: old.text, text })
  if (answer.status === 401) {
    const code = (await prompter.ask(`Next TOTP code of ${username}: `)).trim()
    answer = await requestPasswordChange(client, login, { old: old.text, text, code })
  }
  requireSuccess(answer)
  return { text, from: 'the prompt' }
}

/** Prompts twice. @throws StartupError when the answers differ */
export async function promptNewPassword(question: string, prompter: Prompter): Promise<string> {
  const text = await prompter.askSecret(question)
  if ((await prompter.askSecret('The same again: ')) === text) return text
  throw new StartupError('the two passwords differ: nothing was changed')
}

/** Requests `POST /password`; 401: the old password is wrong, or a TOTP code is missing or wrong. */
export function requestPasswordChange(
  client: HttpsClient,
  { username, realm }: Pick<Login, 'username' | 'realm'>,
  { old, text, code }: { readonly old: string; readonly text: string; readonly code?: string | undefined },
): Promise<Answer> {
  return send(client, `/password?realm=${encodeURIComponent(realm)}`, {
    json: { new_password: text, ...(code !== undefined && { totp_code: code }) },
    headers: { authorization: formatBasic(username, old) },
  })
}

function formatBasic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

async function requestLogin(
  client: HttpsClient,
  { username, realm }: Login,
  password: Password,
  code: string | undefined,
): Promise<Answer> {
  const answer = await send(client, `/login?realm=${encodeURIComponent(realm)}`, {
    json: code === undefined ? {} : { totp_code: code },
    headers: { authorization: formatBasic(username, password.text) },
  })
  if (answer.status === 200) return answer
  if (answer.status !== 401) throw createRefused(answer)
  throw new StartupError(
    `the login of ${username} to realm ${realm} was refused (password from ${password.from}` +
      `${code === undefined ? '' : ', with a TOTP code'}): check the credentials`,
  )
}

/** Finds the password: file, variable, file of the first administrator, prompt. @throws StartupError when there is none */
export async function findPassword(
  login: Login,
  { initialPassword, env, prompter }: PasswordSources,
): Promise<Password> {
  const { username, realm, passwordFile, passwordVariable } = login
  if (passwordFile !== undefined) {
    return {
      text: readSecretFile(passwordFile),
      from: passwordFile === '-' ? 'standard input' : passwordFile,
    }
  }
  const fromEnv = nonEmpty(env[passwordVariable])
  if (fromEnv !== undefined) return { text: fromEnv, from: passwordVariable }
  const isFirst = username === 'admin' && realm === '_'
  if (isFirst && initialPassword !== undefined && existsSync(initialPassword))
    return { text: readSecretFile(initialPassword), from: initialPassword }
  if (!prompter.interactive) throw new StartupError(login.withoutPassword)
  const hint = login.offersBrowser ? ' (with a passkey: press Enter)' : ''
  const text = await prompter.askSecret(`Password of ${username} in realm ${realm}${hint}: `)
  if (login.offersBrowser && text === '') throw new BrowserNeeded('without a password')
  return { text, from: 'the prompt' }
}

/** Formats the prompt for a second factor; a recovery code can be entered in place of each. */
function formatCodeQuestion(username: string, answer: Answer): string {
  return hasTotp(answer)
    ? `TOTP code of ${username}: `
    : `Recovery code of ${username} (passkeys need a browser: warder login --browser): `
}

function describeSecondFactor({ username, realm }: Login, answer: Answer): string {
  if (hasTotp(answer)) return `${username} has a second factor: give its code with --totp-code`
  return (
    `the second factor of ${username} is a passkey, which a terminal cannot use: run warder login --browser --realm ` +
    `${realm}, or give a recovery code with --totp-code`
  )
}

function hasTotp({ json }: Answer): boolean {
  const { second_factors: factors } = (json ?? {}) as { second_factors?: unknown }
  return !Array.isArray(factors) || factors.includes('totp')
}

function getNextStep(answer: Answer): string {
  const { next_step } = (answer.json ?? {}) as { next_step?: unknown }
  return typeof next_step === 'string' ? next_step : ''
}

/** Treats an empty environment variable as unset. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
