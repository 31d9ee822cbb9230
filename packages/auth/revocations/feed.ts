import { hash } from 'node:crypto'
import type { Clock, Logger } from '@warder/base'
import type { Database } from '@warder/storage'
import type { Signer } from '../signing/signing-keys.ts'
import { type FeedEntry, feedTopic, readFeedAfter, readFeedHead } from './feed-store.ts'
import { createSubscribers } from './subscribers.ts'

/** Entries of one page. */
const maxEntries = 20_000
/** How often to look for entries of other nodes when an announcement of the database is lost. */
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
export interface FeedPage {
  readonly body: string
  readonly statement: string
}

export interface FeedRequest {
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
      // An announcement without an entry for this subscriber takes from the same time.
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
