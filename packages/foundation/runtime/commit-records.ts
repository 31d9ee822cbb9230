import { type AuditLog, commitsOperation, createOwnEvent } from '../audit/index.ts'
import type { Clock } from '../clock/clock.ts'
import { readCommitCount } from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import type { Logger } from '../telemetry/types.ts'

/** Commits of at most this time before a crash are unknown to the log. */
const recordEveryMs = 250
/** Records after which another is due whether or not there were commits: it is found near the end of the log. */
const maxRecordsBetween = 50_000

export interface CommitRecords {
  /** The last one. */
  stop(): Promise<void>
}

/**
 * Keeps the audit log informed of how many commits the database has. A number is read from the database, so that it
 * is durable there before it is recorded: after a crash the database is never behind the log. A record is made only
 * after others: periodic work of a service that nobody uses leaves none.
 */
export async function startCommitRecords(options: {
  readonly db: Database
  readonly audit: Pick<AuditLog, 'head' | 'trail'>
  readonly clock: Clock
  readonly log: Logger
}): Promise<CommitRecords> {
  const { db, audit, clock, log } = options
  let recorded = -1
  /** `seq` of the last one. */
  let at = 0
  let warned = false

  const record = async (): Promise<void> => {
    const { seq } = audit.head
    if (seq === at && recorded >= 0) return
    const commits = await readCommitCount(db)
    if (commits === undefined || (commits === recorded && seq - at < maxRecordsBetween)) return
    if (commits < recorded) {
      // Restored, or failed over to a copy that was behind, under a running service: its next start is refused.
      if (!warned)
        log.error({ known: recorded, found: commits }, 'the database has lost commits while it was used')
      warned = true
      return
    }
    await audit.trail.recordDurably({
      ...createOwnEvent(clock.now(), commitsOperation),
      details: { commits },
    })
    recorded = commits
    at = seq + 1
  }
  /** A log or a database that cannot be used now is tried again. */
  const attempt = (): Promise<void> => record().catch(() => undefined)

  await record()
  let turn: Promise<void> | undefined
  const timer = setInterval(() => {
    turn ??= attempt().finally(() => {
      turn = undefined
    })
  }, recordEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await turn
      await attempt()
    },
  }
}
