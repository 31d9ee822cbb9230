import type { IncomingMessage } from 'node:http'
import {
  type Clock,
  failure,
  type Logger,
  type Metrics,
  parseJsonBody,
  type Secret,
  StartupError,
} from '@warder/base'
import {
  createTokenBuckets,
  isUnsealRequest,
  prepareReply,
  toSealedHealth,
  type UnsealProgress,
} from '@warder/server'
import { describeSet, type RootKey, ShareCollection, type SharedRootKey } from '@warder/storage'
import type { CollectShares } from './launch.ts'
import { isHealthRequest, type StandInAnswer } from './stand-in.ts'

const maxBodyBytes = 2048
/**
 * Limit for one address. A share cannot be guessed, and its check takes microseconds: the limit only bounds load and
 * log.
 */
const requestsPerSecond = 5
const burst = 20
const rateSlots = 4096
/** Minimum time between two reads of the set. */
const refreshEveryMs = 1000

interface UnsealingOptions {
  /** See `root_key_shares.time_limit_seconds`. */
  readonly limitMs: number
  /** `sqlite` or `postgresql`, for `/health`. */
  readonly database: string
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Called when the service becomes sealed: from now on it replies with `answer`. */
  onSealed(): Promise<void>
  /** Called when the root key is open, or cannot be opened. */
  onOpened(): Promise<void>
}

/** The holders whose shares opened a set, for the audit log. */
export interface Unsealed {
  readonly set: string
  readonly holders: readonly string[]
}

/** The shares that are collected now, and the promise of the root key. */
interface Attempt {
  shared: SharedRootKey
  collection: ShareCollection
  readonly find: () => Promise<SharedRootKey>
  readonly opened: PromiseWithResolvers<RootKey>
  refreshedAt: number
}

/**
 * A start that waits for shares of its root key. Shares are kept only in memory. They are wiped when they have opened the
 * root key, when they do not open it, or when the time limit has passed. A share that does not match its verification
 * value is refused at once, so no input can displace the shares that were entered.
 */
export class Unsealing {
  readonly #options: UnsealingOptions
  readonly #rate: ReturnType<typeof createTokenBuckets>
  #attempt: Attempt | undefined
  #limit: NodeJS.Timeout | undefined
  /** Requests are answered one after the other while the root key is opened. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Secret of the set that was opened, since a start reads its root key more than once. */
  #secret: { readonly id: string; readonly secret: Secret } | undefined
  #unsealed: Unsealed | undefined

  constructor(options: UnsealingOptions) {
    this.#options = options
    const { clock, metrics } = options
    this.#rate = createTokenBuckets({ ratePerSecond: requestsPerSecond, burst, slots: rateSlots, clock })
    metrics.gauge('sealed', '1 = the service waits for shares of its root key.', () =>
      this.#attempt === undefined ? 0 : 1,
    )
  }

  /** undefined: no shares were needed. */
  get unsealed(): Unsealed | undefined {
    return this.#unsealed
  }

  /** Resolves when enough holders have entered their shares (`ServiceLaunch.collectShares`). */
  readonly collect: CollectShares = async (find) => {
    const shared = await find()
    if (this.#secret?.id === shared.set.id) return shared.open(this.#secret.secret)
    const { clock, log } = this.#options
    const opened = Promise.withResolvers<RootKey>()
    this.#attempt = {
      ...{ shared, find, opened, refreshedAt: clock.monotonic() },
      collection: new ShareCollection(shared.set),
    }
    try {
      await this.#options.onSealed()
      log.warn(
        { set: describeSet(shared.set), threshold: shared.set.threshold },
        'the service is sealed: it waits for shares of its root key (warder unseal)',
      )
      return await opened.promise
    } finally {
      this.#discard()
      this.#attempt = undefined
      await this.#options.onOpened()
    }
  }

  /** Wipes the secret when the start no longer needs it. */
  close(): void {
    this.#discard()
    this.#secret?.secret.wipe()
    this.#secret = undefined
  }

  /** The replies of a sealed service: its state, the entry of shares, and 503 for all other requests. */
  readonly answer: StandInAnswer = async (request) => {
    if (isHealthRequest(request))
      return prepareReply(toSealedHealth(this.#options.database, this.#progress()), 503, undefined)
    if (!isUnsealRequest(request))
      throw this.#attempt === undefined
        ? failure('overloaded', 'the start continues', { retryAfterSeconds: 1 })
        : failure('sealed', undefined, { retryAfterSeconds: 30 })
    const address = request.socket.remoteAddress ?? 'unknown'
    const { allowed, retryAfterSeconds } = this.#rate.take(address)
    if (!allowed) throw failure('rate_limited', undefined, { retryAfterSeconds })
    const text = readShare(await readBody(request))
    const turn = this.#turn.then(() => this.#enter(text, address))
    this.#turn = turn.catch(() => undefined)
    return prepareReply(await turn, 200, undefined)
  }

  #progress(): UnsealProgress {
    if (this.#attempt === undefined) return { sealed: false }
    const { entered, set } = this.#attempt.collection
    return { sealed: true, entered, threshold: set.threshold }
  }

  async #enter(text: string, address: string): Promise<UnsealProgress> {
    const attempt = this.#attempt
    // The last share was entered, and the service is starting.
    if (attempt === undefined) return this.#progress()
    const { log } = this.#options
    let outcome = attempt.collection.add(text)
    if (!outcome.accepted && outcome.problem === 'other_set' && (await this.#refresh(attempt)))
      outcome = attempt.collection.add(text)
    if (!outcome.accepted) {
      const { problem, message } = outcome
      if (problem === 'malformed') throw failure('bad_request', message)
      log.warn({ detail: message, client_ip: address }, 'a share was refused')
      throw failure(problem === 'repeated' ? 'conflict' : 'forbidden', message)
    }
    const { collection } = attempt
    const { entered, set } = collection
    const holder = set.holders[outcome.number - 1]?.name
    log.info(
      { holder, entered, threshold: set.threshold, client_ip: address },
      'a share of the root key was entered',
    )
    this.#limit ??= setTimeout(() => this.#expire(), this.#options.limitMs).unref()
    if (collection.isComplete) await this.#open(attempt, outcome.number)
    return this.#progress()
  }

  /** Another set may have replaced the one that is collected. @returns whether it did */
  async #refresh(attempt: Attempt): Promise<boolean> {
    const { clock, log } = this.#options
    if (clock.monotonic() - attempt.refreshedAt < refreshEveryMs) return false
    attempt.refreshedAt = clock.monotonic()
    try {
      const shared = await attempt.find()
      const isOther = shared.set.id !== attempt.shared.set.id
      attempt.shared = shared
      if (!isOther) return false
      this.#discard()
      attempt.collection = new ShareCollection(shared.set)
      log.warn({ set: describeSet(shared.set) }, 'another set of shares opens the root key now')
      return true
    } catch (error) {
      // The root key was moved to another source: the start ends with an error that names this source.
      if (error instanceof StartupError) this.#end(attempt, error)
      throw error instanceof StartupError ? failure('sealed') : error
    }
  }

  /** @throws Failure when the shares do not open the root key; they are discarded then */
  async #open(attempt: Attempt, last: number): Promise<void> {
    const { collection, shared } = attempt
    const secret = await collection.combine()
    try {
      const root = await shared.open(secret)
      this.#secret = { id: shared.set.id, secret }
      this.#unsealed = { set: describeSet(shared.set), holders: collection.holders }
      this.#discard()
      this.#attempt = undefined
      attempt.opened.resolve(root)
    } catch (error) {
      secret.wipe()
      if (!(error instanceof StartupError)) {
        // The database is unavailable: only the last share has to be entered again.
        collection.remove(last)
        throw error
      }
      const { log } = this.#options
      log.error({ detail: error.message, holders: collection.holders }, 'the shares do not open the root key')
      this.#discard()
      throw failure(
        'conflict',
        'The shares belong to the set, but do not open the database: its stored set was changed. All shares were discarded; see the log of the service.',
      )
    }
  }

  #end(attempt: Attempt, error: StartupError): void {
    this.#discard()
    attempt.opened.reject(error)
  }

  #expire(): void {
    const entered = this.#attempt?.collection.entered
    this.#discard()
    this.#options.log.warn(
      { entered, limit_ms: this.#options.limitMs },
      'the time limit has passed: the entered shares are discarded, and all of them have to be entered again',
    )
  }

  #discard(): void {
    clearTimeout(this.#limit)
    this.#limit = undefined
    this.#attempt?.collection.wipe()
  }
}

/** @throws Failure */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBodyBytes) throw failure('payload_too_large', `The body may have ${maxBodyBytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** @throws Failure */
function readShare(body: Buffer): string {
  const value = parseJsonBody(body)
  body.fill(0)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const [[name, share] = [], ...others] = isObject ? Object.entries(value) : []
  if (name === 'share' && typeof share === 'string' && others.length === 0) return share.trim()
  throw failure('bad_request', 'The body must be {"share": "warder-share-1.…"}, and nothing else.')
}
