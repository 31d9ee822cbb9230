import { hash } from 'node:crypto'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import type { Clock, Logger } from '@warder/base'
import type { Database } from '@warder/storage'
import type { Signer } from '../signing/signing-keys.ts'
import { type FeedEntry, feedTopic, readFeedAfter, readFeedHead } from './feed-store.ts'

/** Replies wait for at most this many subscribers. Further subscribers get the feed, but no reply waits for them. */
const maxSubscribers = 64
/** Each slot: identity, acknowledged number, time of the last request (monotonic ms), whether it was late. */
const slotSize = 4
const bytes = 16 + maxSubscribers * slotSize * 8
/** A subscriber counts as gone when its last request is older than the longest poll and its transfer time. */
const aliveMs = 30_000

const key = 'warder.auth.subscribers'

/** Runs in the primary before it starts workers, so that all workers share the same subscribers. */
export function shareSubscribers(): void {
  setEnvironmentData(key, new SharedArrayBuffer(bytes))
}

/**
 * Subscribers of the revocation feed and their positions. The workers of a process share them: one worker commits a
 * revocation, another one serves the subscriber.
 */
interface Subscribers {
  /** Records that a subscriber has seen everything up to `seq`. */
  acknowledge(id: string, seq: number): void
  /** Announces an append: wakes the callers of `waitForAppend`. */
  announce(): void
  /** Resolves with true at the next `announce`, or with false after `ms`. */
  waitForAppend(ms: number): Promise<boolean>
  /** Whether there is an active subscriber. */
  isAnyActive(): boolean
  /**
   * Resolves when every active subscriber has seen `seq`, or after `ms`. A late subscriber is skipped until its next
   * request.
   */
  waitUntilSeen(seq: number, ms: number): Promise<void>
}

const appendedAt = 0
const acknowledgedAt = 1

function createSubscribers(clock: Clock): Subscribers {
  const shared = getEnvironmentData(key)
  const memory = shared instanceof SharedArrayBuffer ? shared : new SharedArrayBuffer(bytes)
  const counters = new Int32Array(memory, 0, 2)
  const slots = new BigInt64Array(memory, 16)
  const now = (): bigint => BigInt(Math.floor(clock.monotonic()))

  const field = (slot: number, index: number): number => slot * slotSize + index
  const isActive = (slot: number): boolean =>
    Atomics.load(slots, field(slot, 0)) !== 0n &&
    Atomics.load(slots, field(slot, 3)) === 0n &&
    now() - Atomics.load(slots, field(slot, 2)) < BigInt(aliveMs)

  function claimSlot(identity: bigint): number | undefined {
    let free: number | undefined
    for (let slot = 0; slot < maxSubscribers; slot++) {
      const holder = Atomics.load(slots, field(slot, 0))
      if (holder === identity) return slot
      if (free === undefined && !isActive(slot)) free = slot
    }
    return free
  }

  const behind = (seq: bigint): number[] => {
    const found: number[] = []
    for (let slot = 0; slot < maxSubscribers; slot++)
      if (isActive(slot) && Atomics.load(slots, field(slot, 1)) < seq) found.push(slot)
    return found
  }

  async function waitForChange(index: number, seenBefore: number, ms: number): Promise<boolean> {
    const wait = Atomics.waitAsync(counters, index, seenBefore, ms)
    return (wait.async ? await wait.value : wait.value) !== 'timed-out'
  }

  const wake = (index: number): void => {
    Atomics.add(counters, index, 1)
    Atomics.notify(counters, index)
  }

  return {
    acknowledge(id, seq) {
      const identity = toIdentity(id)
      const slot = claimSlot(identity)
      if (slot === undefined) return
      Atomics.store(slots, field(slot, 1), BigInt(seq))
      Atomics.store(slots, field(slot, 2), now())
      Atomics.store(slots, field(slot, 3), 0n)
      Atomics.store(slots, field(slot, 0), identity)
      wake(acknowledgedAt)
    },
    announce: () => wake(appendedAt),
    waitForAppend: (ms) => waitForChange(appendedAt, Atomics.load(counters, appendedAt), ms),
    isAnyActive() {
      for (let slot = 0; slot < maxSubscribers; slot++) if (isActive(slot)) return true
      return false
    },
    async waitUntilSeen(seq, ms) {
      const wanted = BigInt(seq)
      const deadline = AbortSignal.timeout(ms)
      for (;;) {
        const before = Atomics.load(counters, acknowledgedAt)
        const late = behind(wanted)
        if (late.length === 0) return
        if (deadline.aborted || !(await waitForChange(acknowledgedAt, before, ms))) {
          for (const slot of behind(wanted)) Atomics.store(slots, field(slot, 3), 1n)
          return
        }
      }
    },
  }
}

/** 63 bits of the UUID of a subscriber, never 0. */
function toIdentity(id: string): bigint {
  return BigInt(`0x${id.replaceAll('-', '').slice(0, 15)}`) | 1n
}

/** Entries of one page. */
const maxEntries = 20_000
/** Interval of the search for entries of other nodes, for lost announcements of the database. */
const pollIntervalMs = 500
/**
 * Maximum delay of a reply until the subscribers acknowledge a revocation; corresponds to `cache_lease_ms` elsewhere.
 */
const maxAckWaitMs = 1000
/**
 * `aud` of the statement about a page. In session tokens `aud` is a list that only this service writes, so they
 * cannot be confused.
 */
const statementAudience = 'warder:ended'
const statementSeconds = 300

/** A page as it is sent, and the signed statement that proves its origin. */
interface FeedPage {
  readonly body: string
  readonly statement: string
}

interface FeedRequest {
  /** UUID of the subscriber. */
  readonly follower: string
  /** Number of the last entry that the subscriber has received. */
  readonly after: number
  /**
   * Number of the last entry that the subscriber has applied. It may request the next page before it has applied the
   * last one.
   */
  readonly acknowledged: number
  /** Chosen by the subscriber and part of the signed statement, so that an old page cannot answer a new request. */
  readonly nonce: string
  readonly waitMs: number
}

/** Feed of revocations for the services that accept sessions and tokens of this service. */
export interface RevocationFeed {
  page(question: FeedRequest): Promise<FeedPage>
  /**
   * Call it after a commit that may have revoked something. Resolves when every subscriber has acknowledged the last
   * entry, or after `maxAckWaitMs`.
   */
  waitForAcks(): Promise<void>
}

export function createRevocationFeed(parts: {
  readonly db: Database
  readonly signer: Signer
  readonly clock: Clock
  readonly log: Logger
}): RevocationFeed {
  const { db, signer, clock, log } = parts
  const subscribers = createSubscribers(clock)
  db.watch(feedTopic, () => subscribers.announce())

  async function entriesAfter(after: number, waitMs: number): Promise<readonly FeedEntry[]> {
    const deadline = performance.now() + waitMs
    for (;;) {
      // Subscribes before it reads, so that an entry appended in between wakes it.
      const ms = Math.min(deadline - performance.now(), pollIntervalMs)
      const next = ms > 0 ? subscribers.waitForAppend(ms) : undefined
      const entries = await readFeedAfter(db, after, maxEntries)
      if (entries.length > 0 || next === undefined) return entries
      // An announcement without an entry for this subscriber is subject to the same time limit.
      await next
    }
  }

  return {
    async page({ follower, after, acknowledged, nonce, waitMs }) {
      subscribers.acknowledge(follower, acknowledged)
      // A subscriber that is ahead has read the feed of another database: it gets an answer at once.
      const ahead = (await readFeedHead(db)) < after
      const entries = ahead ? [] : await entriesAfter(after, waitMs)
      const head = await readFeedHead(db)
      const last = entries.at(-1)?.[0] ?? after
      const body = JSON.stringify({ after, last, head, entries })
      const now = Math.floor(clock.now() / 1000)
      const statement = signer.sign({
        aud: statementAudience,
        iat: now,
        exp: now + statementSeconds,
        nonce,
        last,
        sha256: hash('sha256', body, 'base64url'),
      })
      return { body, statement }
    },
    async waitForAcks() {
      if (!subscribers.isAnyActive()) return
      try {
        const head = await readFeedHead(db)
        subscribers.announce()
        await subscribers.waitUntilSeen(head, maxAckWaitMs)
      } catch (error) {
        log.warn({ detail: String(error) }, 'the acknowledgements of a revocation could not be checked')
      }
    },
  }
}
