import { createHmac, randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { BoundedMap, type Logger, type Secret } from '@warder/base'
import {
  type Answer,
  isLostSession,
  type Lane,
  maxPerLane,
  requirePlatform,
  TokenProcess,
} from './connection.ts'
import { type Operation, type Request, type Requests, TokenError, type TokenInfo } from './protocol.ts'

const [defaultSessions, maxSessions] = [4, 32]
const defaultTimeoutMs = 10_000
/** Logins and new keys take longer than other requests. */
const slowFactor = 6
const slowOperations: readonly Operation[] = ['open', 'generateKey', 'generateKeyPair']
/** Requests that wait for a session. */
const maxWaiting = 256
/** Pause before a process is started again, when starting it again at once did not help. */
const [minPauseMs, maxPauseMs] = [250, 30_000]
const maxPinBytes = 255

export interface TokenOptions {
  /** Path of the vendor's library. */
  readonly library: string
  readonly token: { readonly label: string } | { readonly slot: number }
  /**
   * A file whose first line is the PIN, readable only by its owner; or the PIN itself, with the name of its setting.
   */
  readonly pinFile: string | { readonly pin: Secret; readonly setting: string }
  /** Sessions, each of which performs one request at a time. */
  readonly sessions?: number
  /** A library that does not respond for so long is taken for hung. */
  readonly timeoutMs?: number
  readonly env?: NodeJS.ProcessEnv
  readonly log?: Logger
}

/** The sessions of a token, in this thread or in another one (`shared-sessions.ts`). */
export interface Sessions {
  /** The values that the token reported when a session was last opened. */
  readonly info: TokenInfo | undefined
  error(code: TokenError['code'], sentence: string): TokenError
  /** Starts the library and logs in, unless that was done. @throws TokenError */
  connect(): Promise<void>
  /** @throws TokenError */
  request<Op extends Operation>(op: Op, request: Requests[Op], parts?: readonly Uint8Array[]): Promise<Answer>
  /** Waits for requests that are under way; rejects those that wait. */
  close(): Promise<void>
}

/** Wrong PINs by token, as digests, so that none is tried twice in this process. */
const refusedPins = new BoundedMap<string, { readonly digest: string; readonly sentence: string }>(64)
const digestKey = randomBytes(32)

/**
 * The sessions of a token, in a process that is started again when it fails. A request is repeated only when the token said
 * that its session was gone; one that the library failed on is rejected.
 */
export class TokenSessions implements Sessions {
  readonly #options: TokenOptions
  readonly #name: string
  readonly #lanes: number
  readonly #timeoutMs: number
  readonly #waiting: ((error?: TokenError) => void)[] = []
  readonly #usedKeys = new BoundedMap<string, true>(256)
  readonly #retired = new Set<Promise<void>>()
  #free: number
  #process: TokenProcess | undefined
  #connecting: Promise<TokenProcess> | undefined
  #opening: Promise<unknown> = Promise.resolve()
  #failures = 0
  #lastFailure: TokenError | undefined
  #retryAt = 0
  #closed = false
  #info: TokenInfo | undefined

  constructor(options: TokenOptions) {
    const { library, token, sessions = defaultSessions, timeoutMs = defaultTimeoutMs } = options
    const which = 'label' in token ? JSON.stringify(token.label) : `in slot ${token.slot}`
    this.#name = `the PKCS#11 token ${which} of ${basename(library)}`
    requirePlatform()
    if (!Number.isInteger(sessions) || sessions < 1 || sessions > maxSessions)
      throw new RangeError(`a token has 1 to ${maxSessions} sessions, not ${sessions}`)
    this.#options = options
    this.#lanes = sessions
    this.#free = sessions * maxPerLane
    this.#timeoutMs = timeoutMs
  }

  get info(): TokenInfo | undefined {
    return this.#info
  }

  error(code: TokenError['code'], sentence: string): TokenError {
    return new TokenError(code, sentence, { token: this.#name })
  }

  async connect(): Promise<void> {
    await this.#connect()
  }

  async request<Op extends Operation>(
    op: Op,
    request: Requests[Op],
    parts: readonly Uint8Array[] = [],
  ): Promise<Answer> {
    await this.#takeTurn()
    try {
      return await this.#perform({ op, ...request } as Request, parts)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const wake of this.#waiting.splice(0)) wake(this.error('closed', 'it is closed'))
    await Promise.all([this.#process?.close(), ...this.#retired])
  }

  async #takeTurn(): Promise<void> {
    if (this.#closed) throw this.error('closed', 'it is closed')
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    if (this.#waiting.length >= maxWaiting)
      throw this.error('overloaded', `${maxWaiting} requests wait for a session`)
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push((error) => (error === undefined ? resolve() : reject(error)))
    })
  }

  async #perform(request: Request, parts: readonly Uint8Array[]): Promise<Answer> {
    const process = await this.#connect()
    try {
      return await this.#sendOn(process, request, parts)
    } catch (error) {
      if (isLostSession(error)) {
        const answer = await this.#sendAgain(process, request, parts)
        if (answer !== undefined) return answer
      } else if (!this.#misses(request, error)) throw error
    }
    // Some libraries find a token that is back, and its keys, only from their start.
    this.#retire(process)
    return await this.#sendOn(await this.#connect(), request, parts)
  }

  /** In the same process, with the session opened again. @returns undefined when the token is away there */
  async #sendAgain(
    process: TokenProcess,
    request: Request,
    parts: readonly Uint8Array[],
  ): Promise<Answer | undefined> {
    try {
      return await this.#sendOn(process, request, parts)
    } catch (error) {
      if (isTokenAway(error)) return undefined
      throw error
    }
  }

  /** Whether a key is missing that has been used before. */
  #misses(request: Request, error: unknown): boolean {
    if (!(error instanceof TokenError && error.code === 'key_not_found' && 'key' in request)) return false
    return this.#usedKeys.delete(JSON.stringify(request.key))
  }

  /** Lets the process finish running operations; new operations go to another process. */
  #retire(process: TokenProcess): void {
    if (this.#process === process) this.#process = undefined
    const closed = process.close()
    this.#retired.add(closed)
    void closed.then(() => this.#retired.delete(closed))
  }

  async #sendOn(process: TokenProcess, request: Request, parts: readonly Uint8Array[]): Promise<Answer> {
    const [first, ...others] = process.lanes
    if (first === undefined) throw new RangeError('a process without lanes')
    const lane = others.reduce((best, other) => (other.pending < best.pending ? other : best), first)
    await this.#open(lane)
    try {
      const timeoutMs = slowOperations.includes(request.op) ? slowFactor * this.#timeoutMs : this.#timeoutMs
      const answer = await lane.send(request, parts, timeoutMs)
      this.#failures = 0
      if ('key' in request) this.#usedKeys.set(JSON.stringify(request.key), true)
      return answer
    } catch (error) {
      // After an error of the token itself its session is not trusted.
      if (isLostSession(error) || isTokenAway(error)) lane.isOpen = false
      throw error
    }
  }

  /** Starts the process if there is none. Its failures are counted, and make the pause before the next longer. */
  #connect(): Promise<TokenProcess> {
    if (this.#closed) return Promise.reject(this.error('closed', 'it is closed'))
    if (this.#process !== undefined && this.#process.failure === undefined && this.#connecting !== undefined)
      return this.#connecting
    const now = performance.now()
    if (this.#lastFailure !== undefined && now < this.#retryAt) {
      const { code, sentence } = this.#lastFailure
      const seconds = Math.ceil((this.#retryAt - now) / 1000)
      return Promise.reject(this.error(code, `${sentence}; tried again in ${seconds} s`))
    }
    const { library, env = process.env, log } = this.#options
    const started = new TokenProcess({
      ...{ library, env, lanes: this.#lanes, name: this.#name },
      onFailure: (failure) => this.#countFailure(failure),
    })
    this.#process = started
    void started.gone.then(() => {
      const { failure, errorOutput } = started
      if (failure !== undefined && failure.code !== 'closed') log?.warn({ errorOutput }, failure.message)
    })
    this.#connecting = this.#openFirst(started)
    this.#connecting.catch(() => undefined)
    return this.#connecting
  }

  async #openFirst(started: TokenProcess): Promise<TokenProcess> {
    const [first] = started.lanes
    try {
      if (first !== undefined) await this.#open(first)
      return started
    } catch (error) {
      const { code, sentence } =
        error instanceof TokenError ? error : this.error('token_error', String(error))
      started.fail(code, sentence)
      throw error
    }
  }

  #countFailure(failure: TokenError): void {
    this.#failures += 1
    this.#lastFailure = failure
    const pauseMs = this.#failures === 1 ? 0 : Math.min(maxPauseMs, minPauseMs * 2 ** (this.#failures - 2))
    this.#retryAt = performance.now() + pauseMs
  }

  /** Opens the session of a lane. One at a time, so that a wrong PIN is tried once. */
  #open(lane: Lane): Promise<void> {
    if (lane.isOpen) return Promise.resolve()
    const opening = this.#opening.then(async () => {
      if (!lane.isOpen) await this.#openNow(lane)
    })
    this.#opening = opening.catch(() => undefined)
    return opening
  }

  async #openNow(lane: Lane): Promise<void> {
    const { library, token, pinFile } = this.#options
    const pin =
      typeof pinFile === 'string' ? this.#readPin(pinFile) : pinFile.pin.use((bytes) => Buffer.from(bytes))
    try {
      const known = `${library} ${JSON.stringify(token)}`
      const digest = createHmac('sha256', digestKey).update(pin).digest('base64')
      const refused = refusedPins.get(known)
      if (refused?.digest === digest) throw this.error('login_refused', refused.sentence)
      try {
        const { result } = await lane.send({ op: 'open', ...token }, [pin], slowFactor * this.#timeoutMs)
        this.#info = result as TokenInfo
      } catch (error) {
        if (!(error instanceof TokenError && error.code === 'login_refused')) throw error
        // Without a return value the PIN was not tried.
        if (error.returnValue === undefined) throw error
        const sentence =
          typeof pinFile === 'string'
            ? `the token refuses the PIN of ${pinFile} (${error.sentence}), which is not tried again until the file changes`
            : `the token refuses the PIN of ${pinFile.setting} (${error.sentence}), which is not tried again: correct the setting and restart`
        refusedPins.set(known, { digest, sentence })
        throw new TokenError('login_refused', sentence, {
          token: this.#name,
          returnValue: error.returnValue,
        })
      }
      refusedPins.delete(known)
      lane.isOpen = true
    } finally {
      pin.fill(0)
    }
  }

  #readPin(path: string): Buffer {
    const refuse = (reason: string): TokenError =>
      this.error('login_refused', `the PIN file ${path} cannot be used: ${reason}`)
    let file: number
    try {
      file = openSync(path, constants.O_RDONLY)
    } catch (error) {
      throw refuse(error instanceof Error ? error.message : String(error))
    }
    try {
      if ((fstatSync(file).mode & 0o077) !== 0) throw refuse('other users can read it: run chmod 600 on it')
      const bytes = Buffer.alloc(maxPinBytes + 2)
      const line = bytes.subarray(0, readSync(file, bytes))
      const end = line.indexOf('\n')
      const pin = Buffer.from(line.subarray(0, end === -1 ? line.length : end))
      const text = pin.at(-1) === 0x0d ? pin.subarray(0, -1) : pin
      bytes.fill(0)
      if (text.length === 0) throw refuse('its first line is empty')
      if (text.length > maxPinBytes) throw refuse(`its first line has more than ${maxPinBytes} bytes`)
      return text
    } finally {
      closeSync(file)
    }
  }
}

/** Whether the token may be found again by a new process. */
function isTokenAway(error: unknown): boolean {
  return (
    error instanceof TokenError && (error.code === 'token_unavailable' || error.code === 'token_not_found')
  )
}
