import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate as otherWork, setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@warder/foundation/runtime'
import type { Logger } from '@warder/foundation/telemetry'
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

/** Follows the feed of ends of the authentication service. */
export interface Follower {
  /** Resolves when everything is known that had ended by then, or after so many ms. */
  ready(ms: number): Promise<void>
  stop(): Promise<void>
}

/** The authentication service finishes what waits before it stops. */
const waitSeconds = 2
const retryMs = [250, 500, 1000, 2000]
/** Failures before a first start warns: both services start at the same time, and this one may be ready first. */
const failuresOfAStart = 4
/** Tokens are accepted for a minute after their end. */
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

/**
 * Requests pages of the feed as long as it runs; each request acknowledges the entries that were applied here. If there
 * are more pages, the next one is requested before this one is applied. Requests are repeated if a page is refused or
 * the authentication service does not answer.
 */
export function follow(options: FollowerOptions): Follower {
  const { source, writer, clock, log } = options
  const follower = randomUUID()
  const stopping = new AbortController()
  let asking = new AbortController()
  /** When it was found that this process had been stopped; what ended meanwhile is not known. Monotonic. */
  let lostAt: number | undefined
  let beatAt = { monotonic: clock.monotonic(), wall: clock.now() }
  let after = 0
  let kid: string | undefined
  let complete = false
  let ahead: Asked | undefined
  let failures = 0
  let warned = false
  let whenReady: () => void = () => undefined
  const firstComplete = new Promise<void>((resolve) => {
    whenReady = resolve
  })

  /** @param from the last entry of the page before */
  function ask(from: number): Asked {
    const nonce = randomBytes(18).toString('base64url')
    const page = askFeed(
      { ...source, signal: asking.signal },
      {
        follower,
        after: from,
        acknowledged: after,
        nonce,
        waitSeconds: complete && lostAt === undefined ? waitSeconds : 0,
      },
    )
    // Looked at when its turn comes, which may be never.
    page.catch(() => undefined)
    return { at: clock.monotonic(), page }
  }

  async function once(): Promise<void> {
    const { at: askedAt, page: coming } = ahead ?? ask(after)
    ahead = undefined
    const page = await coming
    // Another database, or an earlier state of the same one: read from its beginning. Known revocations stay.
    if ((kid !== undefined && page.kid !== kid) || page.head < after) {
      log.warn({ after, head: page.head }, 'the feed of ends is another one; it is read from its beginning')
      kid = page.kid
      after = 0
      complete = false
      return
    }
    kid = page.kid
    ahead = page.last > after && page.last < page.head ? ask(page.last) : undefined
    try {
      await take(page)
    } catch (error) {
      // This page comes first.
      ahead = undefined
      throw error
    }
    after = page.last
    writer.moveTo(after)
    writer.set.sweep(Math.floor(clock.now() / 1000))
    if (after < page.head) return
    complete = true
    writer.completeAt(askedAt)
    // An answer to an earlier question may be as of before the time that was lost.
    if (lostAt !== undefined && askedAt < lostAt) return
    lostAt = undefined
    writer.beat()
    whenReady()
  }

  /** Readers wait once beats are missing, and beats are missing until the feed was asked again. */
  function beat(): void {
    const now = { monotonic: clock.monotonic(), wall: clock.now() }
    const gap = Math.max(now.monotonic - beatAt.monotonic, now.wall - beatAt.wall)
    beatAt = now
    if (gap > maxGapMs) {
      lostAt = now.monotonic
      ahead = undefined
      // A question that waits for the next end would hold up all requests.
      asking.abort()
      asking = new AbortController()
    }
    if (lostAt === undefined) writer.beat()
  }

  async function take(page: FeedPage): Promise<void> {
    const now = Math.floor(clock.now() / 1000)
    for (const [index, entry] of page.entries.entries()) {
      if (index % takenAtOnce === 0 && ahead !== undefined) await otherWork()
      if (entry.untilAt + leewaySeconds > now) put(entry)
    }
    const names = page.entries.map(nameIn).filter((name) => name !== undefined)
    if (names.length > 0) await options.endNames(names)
    const credentials = page.entries
      .filter(({ kind }) => kind === 'credential' || kind === 'credentials')
      .map(({ kind, realm, username, endedAt }) => {
        const name = kind === 'credential' ? options.nameOf(realm, username) : undefined
        return { realm, name, at: endedAt }
      })
    if (credentials.length > 0) await options.endVotes(credentials)
  }

  function nameIn({ seq, kind, subject, realm, username, endedAt }: EndedEntry): EndedName | undefined {
    if (kind === 'person') {
      // A user who never logged in has no id; another one who never does must not be taken for the same.
      const subjectId = subject === '' ? `${endedAt}-${seq}` : subject
      return { name: options.nameOf(realm, username), subjectId }
    }
    return kind === 'role' ? { name: `app:${subject}`, subjectId: username } : undefined
  }

  function put({ seq, kind, subject, untilAt, endedAt, realm, username }: EndedEntry): void {
    const { set, keys } = writer
    const until = untilAt + leewaySeconds
    const add = (of: string, name: string, value: number): void => set.put(keys.other(of, name), until, value)
    switch (kind) {
      case 'session':
        set.put(keys.session(subject), until, 1)
        return
      case 'person':
        if (subject !== '') add(keyKinds.person, subject, 1)
        add(keyKinds.name, options.nameOf(realm, username), endedAt)
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

  async function run(): Promise<void> {
    let question = asking
    while (!stopping.signal.aborted) {
      try {
        question = asking
        await once()
        if (warned) log.info({}, 'the feed of ends is followed again')
        warned = false
        failures = 0
      } catch (error) {
        if (stopping.signal.aborted) return
        // The request was aborted: the next one is sent at once.
        if (question.signal.aborted) continue
        const ms = retryMs[Math.min(failures, retryMs.length - 1)]
        failures += 1
        if (!warned && failures > (complete ? 0 : failuresOfAStart)) {
          warned = true
          log.warn({ error, url: source.url }, 'the feed of ends cannot be followed')
        }
        await sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
      }
    }
  }

  writer.beat()
  const beating = setInterval(beat, beatEveryMs)
  beating.unref()
  const running = run()
  return {
    ready: (ms) => Promise.race([firstComplete, sleep(ms, undefined, { ref: false })]),
    async stop() {
      clearInterval(beating)
      stopping.abort()
      asking.abort()
      await running
    },
  }
}
