import type { Logger } from '@warder/base'
import type { Database } from '@warder/storage'
import { type KeyUse, toDay, useChanges } from './last-use-store.ts'

/** Records the users of each key by day, without delaying requests. */
export interface LastUses {
  /** Called for each use; after the first use of a key by a user on a day it costs one look-up in a map. */
  note(id: string, user: string, now: number): void
  /** Writes all pending records. */
  flush(): Promise<void>
  close(): Promise<void>
}

export interface LastUsesOptions {
  readonly db: Database
  readonly log: Logger
  /** Max milliseconds until a use is written: a kill loses the uses of this time. */
  readonly everyMs?: number
  /** Pairs of key and user that are remembered as written on this day. */
  readonly capacity?: number
}

const defaultEveryMs = 2000
const defaultCapacity = 200_000
/** Pairs that wait to be written; more are dropped, with a line in the log: the next use notes them again. */
const maxWaiting = 50_000
const maxPerCommit = 500

/**
 * One per worker. A pair that several workers see is written once, because the row is read before it is written. When
 * the memory is full it is cleared, which costs reads but no writes.
 */
export function createLastUses({
  db,
  log,
  everyMs = defaultEveryMs,
  capacity = defaultCapacity,
}: LastUsesOptions): LastUses {
  /** By key, then user, so that a use does not concatenate strings. */
  let noted = new Map<string, Set<string>>()
  let size = 0
  let today = 0
  let waiting: KeyUse[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined

  const forget = (): void => {
    noted = new Map()
    size = 0
  }

  async function write(batch: readonly KeyUse[]): Promise<void> {
    for (let from = 0; from < batch.length; from += maxPerCommit) {
      const some = batch.slice(from, from + maxPerCommit)
      const changes = (await Promise.all(some.map((use) => useChanges(db, use)))).flat()
      if (changes.length > 0) await db.commit(changes)
    }
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    await writing
    const batch = waiting
    waiting = []
    if (batch.length === 0) return
    writing = write(batch)
      .catch((error: unknown) => {
        log.info({ error, uses: batch.length }, 'the last uses of keys could not be stored')
        // The next use of each notes it again.
        forget()
      })
      .finally(() => {
        writing = undefined
      })
    await writing
  }

  return {
    note(id, user, now) {
      const day = toDay(now)
      if (day !== today || size >= capacity) {
        today = day
        forget()
      }
      const users = noted.get(id)
      if (users?.has(user)) return
      if (users === undefined) noted.set(id, new Set([user]))
      else users.add(user)
      size += 1
      if (waiting.length >= maxWaiting) {
        log.info({ waiting: maxWaiting }, 'too many uses of keys are waiting to be stored: one was dropped')
        return
      }
      waiting.push({ id, user, day })
      timer ??= setTimeout(() => void flush(), everyMs).unref()
    },
    flush,
    close: flush,
  }
}
