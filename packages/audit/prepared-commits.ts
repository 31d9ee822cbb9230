import { randomBytes } from 'node:crypto'
import { BoundedMap } from '@warder/base'
import type { Change, ChangeResult, Commit, Database } from '@warder/storage'
import { insertPreparedCommit, insertSource, setResolvedBelow } from './prepared-commit-store.ts'

/** A commit whose success is in the audit log before it happens (mode `reject`). */
export interface PreparedCommit {
  /** `details.commit` of the records that announce the commit, and of those that correct them. */
  readonly id: string
  /**
   * Commits, and stores the number in the database in the same transaction. A failed commit may be tried again; after the
   * first successful one, further commits of the request are ordinary ones.
   */
  commit(commit: Commit, changes: readonly Change[]): Promise<readonly ChangeResult[]>
  /** A record that announces it is on disk. */
  markPrepared(): void
  /** The log states the outcome: the next start need not resolve it. */
  markResolved(): void
  /** The correction could not be written: the next start writes it, if the commit was announced. */
  markInDoubt(): void
}

export interface PreparedCommits {
  begin(): Promise<PreparedCommit>
}

/** Numbers of resolved commits are deleted from the database after so many commits. */
const defaultForgetEvery = 256
/** A log that cannot be written announces nothing: only commits that were under way then can be in doubt. */
const maxInDoubt = 1000

/** The prepared commits of one worker. @param forgetEvery for tests */
export function createPreparedCommits(db: Database, forgetEvery = defaultForgetEvery): PreparedCommits {
  const source = randomBytes(8).toString('hex')
  const underWay = new Set<number>()
  const inDoubt = new BoundedMap<number, true>(maxInDoubt)
  let known: Promise<unknown> | undefined
  let next = 1
  let sinceForgotten = 0
  let forgetting = false

  const forget = async (): Promise<void> => {
    if (forgetting) return
    forgetting = true
    sinceForgotten = 0
    const below = Math.min(next, ...underWay)
    const open = [...inDoubt.keys()].filter((number) => number < below)
    try {
      await db.commit(setResolvedBelow(source, below, open))
    } catch {
      // The rest is deleted the next time.
    } finally {
      forgetting = false
    }
  }

  return {
    async begin() {
      // Before the first announcement: commits of a source that the database does not know are never resolved.
      known ??= db.commit([insertSource(source)])
      try {
        await known
      } catch (error) {
        known = undefined
        throw error
      }
      const number = next++
      underWay.add(number)
      let carried = false
      let onDisk = false
      const done = (): void => {
        underWay.delete(number)
        sinceForgotten += 1
        if (sinceForgotten >= forgetEvery) void forget()
      }
      return {
        id: `${source}-${number}`,
        async commit(commit, changes) {
          if (carried) return commit(changes)
          // Last, so that the indexes of guards stay those of the caller.
          const results = await commit([...changes, insertPreparedCommit(source, number)])
          carried = true
          done()
          return results.slice(0, -1)
        },
        markResolved() {
          if (underWay.has(number)) done()
        },
        markPrepared() {
          onDisk = true
        },
        markInDoubt() {
          if (carried) return
          if (onDisk) inDoubt.set(number, true)
          if (underWay.has(number)) done()
        },
      }
    },
  }
}
