import { type AuditLog, commitsOperation, createOwnEvent } from '@warder/audit'
import type { Clock, Logger } from '@warder/base'
import type { Database } from '@warder/storage'
import { readCommitCount } from '@warder/storage'

/** Commits of at most this time before a crash are unknown to the log. */
const recordEveryMs = 250
/** After this many other records a new one is written even without commits, so that it is near the end of the log. */
const maxRecordsBetween = 50_000

export interface CommitRecords {
  /** Writes the last record. */
  stop(): Promise<void>
}

/**
 * Records the database's number of commits in the audit log. The number is read from the database, where it is durable
 * before it is recorded: after a crash the database is never behind the log. A record is written only after other records:
 * the periodic work of an idle service writes none.
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
      // The database was restored, or failed over to an older copy, under a running service: the next start is refused.
      if (!warned)
        log.error({ known: recorded, found: commits }, 'the database lost commits while it was in use')
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
  /** Errors of the log or the database are ignored, since the next attempt follows. */
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
