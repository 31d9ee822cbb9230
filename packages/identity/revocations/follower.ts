import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate as otherWork, setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Logger } from '@warder/base'
import { type EndedWriter, keyKinds, maxGapMs } from './ended.ts'
import { askFeed, type EndedEntry, type FeedPage, type FeedSource } from './feed-page.ts'

export interface FollowerOptions {
  readonly source: FeedSource
  readonly writer: EndedWriter
  /** Name of a user of a realm at this service. */
  readonly nameOf: (realm: string, username: string) => string
  /** Ends all that belongs to deleted names; when it returns, the next user of such a name inherits nothing. */
  readonly endNames: (names: readonly EndedName[]) => Promise<void>
  /** Ends votes and activations of users whose credentials an administrator set. */
  readonly endVotes: (users: readonly CredentialSet[]) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** A user whose credential an administrator set or removed. */
export interface CredentialSet {
  readonly realm: string
  /** Name at this service; undefined = every user of the realm. */
  readonly name: string | undefined
  /** Unix seconds. */
  readonly at: number
}

/** A name whose user was deleted. */
export interface EndedName {
  readonly name: string
  readonly subjectId: string
}

/** Follows the revocation feed of the authentication service. */
export interface Follower {
  /** Resolves when everything is known that had ended by then, or after so many ms. */
  ready(ms: number): Promise<void>
  stop(): Promise<void>
}

/** The authentication service completes waiting requests before it stops. */
const waitSeconds = 2
const retryMs = [250, 500, 1000, 2000]
/** Failures before a first start warns: both services start at the same time, and this one may be ready first. */
const failuresOfAStart = 4
/** Tokens are accepted for a minute after their expiry. */
const leewaySeconds = 120

/** Entries that are taken in one go, before anything else of this thread has its turn: the next question is sent then. */
const takenAtOnce = 2000

/** Often enough that no gap counts as lost time while this thread has its turns. */
const beatEveryMs = 100

/** A question that was asked, and when. */
interface Asked {
  readonly at: number
  readonly page: Promise<FeedPage>
}

interface ClockReading {
  readonly monotonic: number
  readonly wall: number
}

/**
 * Requests pages of the feed as long as it runs; each request acknowledges the entries that were applied here. If there
 * are more pages, the next one is requested before this one is applied. Requests are repeated if a page is refused or
 * the authentication service does not respond.
 */
export function follow(options: FollowerOptions): Follower {
  return new FeedFollower(options)
}

class FeedFollower implements Follower {
  readonly #options: FollowerOptions
  readonly #id = randomUUID()
  readonly #stopping = new AbortController()
  /** Of the requests that are under way. */
  #asking = new AbortController()
  /** Time at which this process was found to have been suspended; revocations meanwhile are not known. Monotonic. */
  #lostAt: number | undefined
  #beatAt: ClockReading
  /** Sequence number of the last entry that was applied. */
  #after = 0
  /** Key that the feed is signed with: it changes with the database. */
  #kid: string | undefined
  #complete = false
  /** The next page, requested before the one before it is applied. */
  #ahead: Asked | undefined
  #failures = 0
  #warned = false
  readonly #firstComplete = Promise.withResolvers<void>()
  readonly #beating: NodeJS.Timeout
  readonly #running: Promise<void>

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#beatAt = readClock(options.clock)
    options.writer.beat()
    this.#beating = setInterval(() => this.#beat(), beatEveryMs)
    this.#beating.unref()
    this.#running = this.#run()
  }

  ready(ms: number): Promise<void> {
    return Promise.race([this.#firstComplete.promise, sleep(ms, undefined, { ref: false })])
  }

  async stop(): Promise<void> {
    clearInterval(this.#beating)
    this.#stopping.abort()
    this.#asking.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { log } = this.#options
    while (!this.#stopping.signal.aborted) {
      const { signal } = this.#asking
      try {
        await this.#advance()
        if (this.#warned) log.info({}, 'the subscription to the revocation feed works again')
        this.#warned = false
        this.#failures = 0
      } catch (error) {
        if (this.#stopping.signal.aborted) return
        // The request was aborted: the next one is sent at once.
        if (!signal.aborted) await this.#waitAfterFailure(error)
      }
    }
  }

  async #waitAfterFailure(error: unknown): Promise<void> {
    const { log, source } = this.#options
    const ms = retryMs[Math.min(this.#failures, retryMs.length - 1)]
    this.#failures += 1
    if (!this.#warned && this.#failures > (this.#complete ? 0 : failuresOfAStart)) {
      this.#warned = true
      log.warn({ error, url: source.url }, 'the revocation feed cannot be read')
    }
    await sleep(ms, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined)
  }

  /** Applies the next page. */
  async #advance(): Promise<void> {
    const { at: askedAt, page: coming } = this.#ahead ?? this.#ask(this.#after)
    this.#ahead = undefined
    const page = await coming
    if (this.#isOtherFeed(page)) {
      this.#restart(page)
      return
    }
    this.#kid = page.kid
    this.#ahead = page.last > this.#after && page.last < page.head ? this.#ask(page.last) : undefined
    try {
      await this.#apply(page)
    } catch (error) {
      // This page comes first.
      this.#ahead = undefined
      throw error
    }
    this.#moveTo(page.last)
    if (page.last >= page.head) this.#completeAt(askedAt)
  }

  /** @param from the last entry of the page before */
  #ask(from: number): Asked {
    const { source, clock } = this.#options
    const nonce = randomBytes(18).toString('base64url')
    const page = askFeed(
      { ...source, signal: this.#asking.signal },
      {
        follower: this.#id,
        after: from,
        acknowledged: this.#after,
        nonce,
        waitSeconds: this.#complete && this.#lostAt === undefined ? waitSeconds : 0,
      },
    )
    // Looked at when its turn comes, which may be never.
    page.catch(() => undefined)
    return { at: clock.monotonic(), page }
  }

  /** Another database, or an earlier state of the same one. */
  #isOtherFeed({ kid, head }: FeedPage): boolean {
    return (this.#kid !== undefined && kid !== this.#kid) || head < this.#after
  }

  /** Reads the feed from its beginning. Known revocations stay. */
  #restart({ kid, head }: FeedPage): void {
    const after = this.#after
    this.#options.log.warn(
      { after, head },
      'the revocation feed was replaced; it is read again from its beginning',
    )
    this.#kid = kid
    this.#after = 0
    this.#complete = false
  }

  async #apply({ entries }: FeedPage): Promise<void> {
    const { clock, endNames, endVotes } = this.#options
    const now = Math.floor(clock.now() / 1000)
    for (const [index, entry] of entries.entries()) {
      if (index % takenAtOnce === 0 && this.#ahead !== undefined) await otherWork()
      if (entry.untilAt + leewaySeconds > now) recordEnd(this.#options, entry)
    }
    const names = entries
      .map((entry) => toEndedName(this.#options, entry))
      .filter((name) => name !== undefined)
    if (names.length > 0) await endNames(names)
    const credentials = entries
      .map((entry) => toCredentialSet(this.#options, entry))
      .filter((credential) => credential !== undefined)
    if (credentials.length > 0) await endVotes(credentials)
  }

  #moveTo(last: number): void {
    const { writer, clock } = this.#options
    this.#after = last
    writer.moveTo(last)
    writer.set.sweep(Math.floor(clock.now() / 1000))
  }

  /** All that had ended when the page was requested is known. */
  #completeAt(askedAt: number): void {
    const { writer } = this.#options
    this.#complete = true
    writer.completeAt(askedAt)
    // An answer to an earlier question may be as of before the time that was lost.
    if (this.#lostAt !== undefined && askedAt < this.#lostAt) return
    this.#lostAt = undefined
    writer.beat()
    this.#firstComplete.resolve()
  }

  /** Readers wait once beats are missing, and beats are missing until the feed was asked again. */
  #beat(): void {
    const { writer, clock } = this.#options
    const now = readClock(clock)
    const gap = Math.max(now.monotonic - this.#beatAt.monotonic, now.wall - this.#beatAt.wall)
    this.#beatAt = now
    if (gap > maxGapMs) {
      this.#lostAt = now.monotonic
      this.#ahead = undefined
      // A request that waits for the next revocation would delay all requests.
      this.#asking.abort()
      this.#asking = new AbortController()
    }
    if (this.#lostAt === undefined) writer.beat()
  }
}

function readClock(clock: Clock): ClockReading {
  return { monotonic: clock.monotonic(), wall: clock.now() }
}

function recordEnd({ writer, nameOf }: FollowerOptions, entry: EndedEntry): void {
  const { seq, kind, subject, untilAt, endedAt, realm, username } = entry
  const { set, keys } = writer
  const until = untilAt + leewaySeconds
  const add = (of: string, name: string, value: number): void => set.put(keys.other(of, name), until, value)
  switch (kind) {
    case 'session':
      set.put(keys.session(subject), until, 1)
      return
    case 'person':
      if (subject !== '') add(keyKinds.person, subject, 1)
      add(keyKinds.name, nameOf(realm, username), endedAt)
      return
    case 'logins':
      add(keyKinds.logins, `${realm}/${username}`, seq)
      return
    case 'realm':
      add(keyKinds.realm, realm, seq)
      return
    case 'machine':
    case 'role':
      add(keyKinds.machine, subject, seq)
  }
}

function toEndedName({ nameOf }: FollowerOptions, entry: EndedEntry): EndedName | undefined {
  const { seq, kind, subject, realm, username, endedAt } = entry
  if (kind === 'person') {
    // A user who never logged in has no id; another one who never does must not be taken for the same.
    const subjectId = subject === '' ? `${endedAt}-${seq}` : subject
    return { name: nameOf(realm, username), subjectId }
  }
  return kind === 'role' ? { name: `app:${subject}`, subjectId: username } : undefined
}

function toCredentialSet({ nameOf }: FollowerOptions, entry: EndedEntry): CredentialSet | undefined {
  const { kind, realm, username, endedAt } = entry
  if (kind !== 'credential' && kind !== 'credentials') return undefined
  return { realm, name: kind === 'credential' ? nameOf(realm, username) : undefined, at: endedAt }
}
