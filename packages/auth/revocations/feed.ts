import { hash } from 'node:crypto'
import type { Clock } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import type { Logger } from '@warder/foundation/telemetry'
import type { Signer } from '../signing/index.ts'
import { type FeedEntry, feedTopic, readFeedAfter, readFeedHead } from './feed-store.ts'
import { createSubscribers } from './subscribers.ts'

/** Entries of one page. */
const maxEntries = 20_000
/** Another node's entries are announced by the database; where that is lost they are looked for this often. */
const pollIntervalMs = 500
/** How long an end waits for who follows: what `cache_lease_ms` is elsewhere. */
const maxAckWaitMs = 1000
/** `aud` of the statement about a page. That of a session token is a list, which nobody but this service writes. */
const statementAudience = 'warder:ended'
const statementSeconds = 300

/** A page as it is sent, and the statement that it is ours. */
export interface FeedPage {
  readonly body: string
  readonly statement: string
}

export interface FeedRequest {
  /** UUID of the follower. */
  readonly follower: string
  /** Number of the last entry that it has. */
  readonly after: number
  /** Number up to which it has taken over what ended: it may ask for the next page before that is so. */
  readonly acknowledged: number
  /** Chosen by the follower; part of what is signed, so that an old page cannot answer a new question. */
  readonly nonce: string
  readonly waitMs: number
}

/** Feed of what has ended, for the services that accept this service's sessions and tokens. */
export interface RevocationFeed {
  page(question: FeedRequest): Promise<FeedPage>
  /** After a commit that may have ended something: returns when those who follow know of it, or the lease is over. */
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
    let left = waitMs
    for (;;) {
      // Asked for before the look: what is appended between the two wakes it.
      const ms = Math.min(left, pollIntervalMs)
      const next = ms > 0 ? subscribers.waitForAppend(ms) : undefined
      const entries = await readFeedAfter(db, after, maxEntries)
      if (entries.length > 0 || next === undefined) return entries
      if (!(await next)) left -= ms
    }
  }

  return {
    async page({ follower, after, acknowledged, nonce, waitMs }) {
      subscribers.acknowledge(follower, acknowledged)
      // A follower that is ahead has followed another database: it is told at once.
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
        log.warn({ detail: String(error) }, 'whether others know of what ended could not be found out')
      }
    },
  }
}
