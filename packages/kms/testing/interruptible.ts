import type { Database } from '@warder/storage'

/** A database in which others are faster. */
export interface Interruptible {
  readonly db: Database
  /** Done just before the next commit, which waits for it; once. */
  beforeCommit(work: () => Promise<unknown>): void
}

/** Runs a change between the reads and the commit of a request, so that every run has the interleaving. */
export function interruptible(own: Database): Interruptible {
  let pending: (() => Promise<unknown>) | undefined
  const commit: Database['commit'] = async (changes) => {
    const work = pending
    pending = undefined
    await work?.()
    return own.commit(changes)
  }
  return {
    db: { ...own, commit },
    beforeCommit(work) {
      pending = work
    },
  }
}
