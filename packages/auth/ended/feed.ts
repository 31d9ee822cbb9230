import { hash } from 'node:crypto'
import type { Clock } from '@warder/foundation/runtime'
import type { Database } from '@warder/foundation/sql'
import type { Logger } from '@warder/foundation/telemetry'
import type { Signer } from '../signing/index.ts'
import type { EndedEntry } from './entry.ts'
import { feedAfter, feedHead, feedTopic } from './feed-store.ts'
import { createFollowers } from './followers.ts'

/** Entries of one page. */
const mostEntries = 20_000
/** Another node's entries are announced by the database; where that is lost they are looked for this often. */
const lookEveryMs = 500
/** How long an end waits for who follows: what `cache_lease_ms` is elsewhere. */
const toldWithinMs = 1000
/** `aud` of the statement about a page. That of a session token is a list, which nobody but this service writes. */
const statementAudience = 'warder:ended'
const statementSeconds = 300

/** A page as it is sent, and the statement that it is ours. */
export interface FeedPage {
  readonly body: string
  readonly statement: string
}

export interface Question {
  /** UUID of the follower. */
  readonly follower: string
  /** Number of the last entry that it has. */
  readonly after: number
  /** Chosen by the follower; part of what is signed, so that an old page cannot answer a new question. */
  readonly nonce: string
  readonly waitMs: number
}

/** What has ended, for the services that accept what this one issues. */
export interface EndedFeed {
  page(question: Question): Promise<FeedPage>
  /** After a commit that may have ended something: returns when those who follow know of it, or the lease is over. */
  told(): Promise<void>
}

export function createEndedFeed(parts: {
  readonly db: Database
  readonly signer: Signer
  readonly clock: Clock
  readonly log: Logger
}): EndedFeed {
  const { db, signer, clock, log } = parts
  const followers = createFollowers(clock)
  db.watch(feedTopic, () => followers.announce())

  async function entriesAfter(after: number, waitMs: number): Promise<readonly EndedEntry[]> {
    let left = waitMs
    for (;;) {
      // Asked for before the look: what is appended between the two wakes it.
      const ms = Math.min(left, lookEveryMs)
      const next = ms > 0 ? followers.appended(ms) : undefined
      const entries = await feedAfter(db, after, mostEntries)
      if (entries.length > 0 || next === undefined) return entries
      if (!(await next)) left -= ms
    }
  }

  return {
    async page({ follower, after, nonce, waitMs }) {
      followers.acknowledge(follower, after)
      // A follower that is ahead has followed another database: it is told at once.
      const ahead = (await feedHead(db)) < after
      const entries = ahead ? [] : await entriesAfter(after, waitMs)
      const head = await feedHead(db)
      const last = entries.at(-1)?.seq ?? after
      const body = JSON.stringify({ after, last, head, entries: entries.map(shown) })
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
    async told() {
      if (!followers.any()) return
      try {
        const head = await feedHead(db)
        followers.announce()
        await followers.seen(head, toldWithinMs)
      } catch (error) {
        log.warn({ detail: String(error) }, 'whether others know of what ended could not be found out')
      }
    },
  }
}

/** Of sessions, of which there are many, only what is needed to refuse their tokens. */
function shown(entry: EndedEntry): readonly (string | number)[] {
  const { seq, kind, subject, untilAt } = entry
  if (kind === 'session') return [seq, kind, subject, untilAt]
  return [seq, kind, subject, untilAt, entry.endedAt, entry.realm, entry.username, entry.reason]
}
