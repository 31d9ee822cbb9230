import { statSync } from 'node:fs'
import { type Logger, StartupError } from '@warder/base'
import type { Credentials } from '@warder/client'
import { readSecretFile } from '@warder/command-line/files'
import type { Answer, HttpsClient } from '@warder/command-line/https-client'
import { Refused } from './refused.ts'

/** Credential of the machine: an AppRole, or a file with a token. */
export type MachineLogin =
  | { readonly roleId: string; readonly secretIdFile: string }
  | { readonly tokenFile: string }

export interface MachineTokensOptions {
  readonly login: MachineLogin
  /** The authentication service; undefined: a token from a file is not renewed. */
  readonly auth: HttpsClient | undefined
  readonly log: Logger
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

interface HeldToken {
  readonly token: string
  /** undefined: no known expiry. */
  readonly endsAt: number | undefined
  readonly fileStamp: string | undefined
}

/** Pause after a failed attempt, doubled each time. */
const firstPauseMs = 1000
const maxPauseMs = 30_000
/** A lease is renewed after this fraction; a failed renewal is retried ten times before the lease ends. */
const renewAfter = 0.5
const retriesInLease = 10
const maxTimerMs = 2_000_000_000

/**
 * The token of the machine: obtained on first use, renewed before its lease ends, and replaced after a rejection. Logins are
 * not concurrent, and pause after a failure.
 */
export class MachineTokens {
  readonly #options: MachineTokensOptions
  readonly #now: () => number
  #held: HeldToken | undefined
  #underWay: Promise<HeldToken> | undefined
  #failures = 0
  #failure: Refused | undefined
  #notBefore = 0
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: MachineTokensOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Seconds until the token expires, for the metrics; undefined: no token, or no expiry. */
  get secondsLeft(): number | undefined {
    const endsAt = this.#held?.endsAt
    return endsAt === undefined ? undefined : Math.max(0, (endsAt - this.#now()) / 1000)
  }

  /** @throws Refused when no token can be obtained */
  async current(): Promise<Credentials> {
    const held = this.#held
    const usable =
      held !== undefined &&
      (held.endsAt === undefined || this.#now() < held.endsAt) &&
      held.fileStamp === this.#fileStamp()
    return toCredentials((usable ? held : await this.#obtainOnce()).token)
  }

  /** Discards rejected credentials, so that the next `current` logs in again. */
  invalidate(credentials: Credentials): void {
    const token = credentials.bearer ?? credentials.secretToken
    if (this.#held !== undefined && this.#held.token === token) this.#held = undefined
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #obtainOnce(): Promise<HeldToken> {
    if (this.#failure !== undefined && this.#now() < this.#notBefore) throw this.#failure
    this.#underWay ??= this.#obtain().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  async #obtain(): Promise<HeldToken> {
    const { login, log } = this.#options
    try {
      const held = 'tokenFile' in login ? await this.#fromFile(login.tokenFile) : await this.#logIn(login)
      this.#hold(held)
      if (this.#failures > 0) log.info({}, 'the machine has a token again')
      this.#failures = 0
      this.#failure = undefined
      return held
    } catch (error) {
      const invalidate = toRefused(error)
      const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10))
      this.#failures += 1
      this.#failure = invalidate
      this.#notBefore = this.#now() + pause
      log.warn({ failures: this.#failures, reason: invalidate.message }, 'the machine cannot obtain a token')
      throw invalidate
    }
  }

  async #logIn({ roleId, secretIdFile }: Extract<MachineLogin, { roleId: string }>): Promise<HeldToken> {
    const json = { role_id: roleId, secret_id: readSecretFile(secretIdFile, 'the SecretID') }
    return this.#readGrant(await this.#ask('/auth/approle/login', { json }), undefined)
  }

  async #fromFile(file: string): Promise<HeldToken> {
    const fileStamp = this.#fileStamp()
    const token = readSecretFile(file, 'the token').trim()
    if (this.#options.auth === undefined || !token.startsWith('wt.'))
      return { token, endsAt: undefined, fileStamp }
    return this.#readGrant(await this.#renewal(token), fileStamp)
  }

  #renewal(token: string): Promise<Answer> {
    return this.#ask('/auth/token/renew-self', { json: {}, headers: { 'x-secret-token': token } })
  }

  async #ask(path: string, ask: Parameters<HttpsClient['ask']>[1]): Promise<Answer> {
    const { auth } = this.#options
    if (auth === undefined)
      throw new Refused('denied', 'the address of the authentication service is not known: give --auth-url')
    try {
      return await auth.ask(path, ask)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new Refused('unavailable', `the authentication service does not respond: ${why}`, { cause })
    }
  }

  #readGrant({ status, json }: Answer, fileStamp: string | undefined): HeldToken {
    const { auth, errors } = (json ?? {}) as { auth?: Record<string, unknown>; errors?: unknown }
    const { client_token: token, lease_duration: lease } = auth ?? {}
    if (status >= 200 && status < 300 && typeof token === 'string' && typeof lease === 'number')
      return { token, endsAt: lease > 0 ? this.#now() + lease * 1000 : undefined, fileStamp }
    const [sentence] = Array.isArray(errors) ? errors : []
    const kind = status >= 500 || status === 429 ? 'unavailable' : 'denied'
    const said = typeof sentence === 'string' ? sentence.slice(0, 200) : 'no reason was given'
    throw new Refused(kind, `the authentication service answered ${status} to the machine's login: ${said}`)
  }

  #hold(held: HeldToken): void {
    this.#held = held
    clearTimeout(this.#timer)
    if (held.endsAt === undefined || this.#closed) return
    const lease = held.endsAt - this.#now()
    this.#renewIn(lease * renewAfter, lease)
  }

  #renewIn(ms: number, lease: number): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#renew(lease), Math.min(ms, maxTimerMs))
    this.#timer.unref()
  }

  /** Renews the token before the lease ends. After a rejection the token is discarded, and the next use logs in. */
  async #renew(lease: number): Promise<void> {
    const held = this.#held
    if (held === undefined) return
    try {
      this.#hold(this.#readGrant(await this.#renewal(held.token), held.fileStamp))
    } catch (error) {
      if (this.#held !== held) return
      const invalidate = toRefused(error)
      this.#options.log.warn({ reason: invalidate.message }, 'the token of the machine was not renewed')
      if (invalidate.code === 'denied') this.#held = undefined
      else if (held.endsAt !== undefined && this.#now() < held.endsAt)
        this.#renewIn(lease / 2 / retriesInLease, lease)
    }
  }

  /** Changes when the token file is replaced. */
  #fileStamp(): string | undefined {
    const { login } = this.#options
    if (!('tokenFile' in login)) return undefined
    const stat = statSync(login.tokenFile, { throwIfNoEntry: false })
    return stat === undefined ? 'gone' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`
  }
}

function toCredentials(token: string): Credentials {
  return token.startsWith('wt.') ? { secretToken: token } : { bearer: token }
}

function toRefused(error: unknown): Refused {
  if (error instanceof Refused) return error
  if (error instanceof StartupError) return new Refused('denied', error.message, { cause: error })
  throw error
}
