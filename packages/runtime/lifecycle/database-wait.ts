import { setTimeout } from 'node:timers/promises'
import type { Logger } from '@warder/base'
import type { Database } from '@warder/storage'
import { DatabaseUnreachable } from '@warder/storage'

const firstWaitMs = 1_000
const maxWaitMs = 30_000

export interface DatabaseWait {
  open(): Promise<Database>
  /** undefined = without limit; 0 = no retry. */
  readonly maxMs: number | undefined
  readonly log: Logger
  /** Called once, before the first wait. */
  onUnavailable(): Promise<void>
  /** Default: a timer. */
  readonly wait?: (ms: number) => Promise<unknown>
}

/**
 * Connects to a database, and retries while it cannot be reached: after 1, 2, 4, 8, 16 and then every 30 seconds. Permanent
 * errors (a wrong password, no such database) are thrown at once.
 * @throws DatabaseAway when it has not come back within `maxMs`
 */
export async function connectWhenThere(options: DatabaseWait): Promise<Database> {
  const { maxMs = Number.POSITIVE_INFINITY, log, wait = (ms) => setTimeout(ms) } = options
  let waitedMs = 0
  for (let attempt = 1; ; attempt += 1) {
    try {
      const db = await options.open()
      if (attempt > 1) log.info({ waited_ms: waitedMs }, 'the database is reachable')
      return db
    } catch (error) {
      if (!(error instanceof DatabaseUnreachable) || waitedMs >= maxMs) throw error
      if (attempt === 1) await options.onUnavailable()
      const waitMs = Math.min(firstWaitMs * 2 ** (attempt - 1), maxWaitMs, maxMs - waitedMs)
      log.warn(
        { detail: error.message, wait_ms: waitMs },
        'the database cannot be reached; the start waits for it',
      )
      await wait(waitMs)
      waitedMs += waitMs
    }
  }
}
