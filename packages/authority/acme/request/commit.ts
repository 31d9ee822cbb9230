import { type Change, type Commit, GuardFailed } from '@warder/storage'
import { acmeProblem } from '../protocol/problem.ts'

/** Commits changes to rows that were read before. @throws conflict when one of them has changed since */
export async function commitOrConflict(commit: Commit, changes: readonly Change[]): Promise<void> {
  try {
    await commit(changes)
  } catch (error) {
    if (error instanceof GuardFailed)
      throw acmeProblem('conflict', 'Another request changed the same data concurrently: try again.')
    throw error
  }
}
