import type { Change, Commit } from '@warder/storage'

/** Rows of one commit of a sweep, so that logins do not wait for it. */
const batchSize = 1000
/** Bounds one sweep; the next one deletes the rest. */
const maxBatches = 10_000

/**
 * Deletes rows in commits of bounded size, until none is left.
 * @param removals changes of one commit, each of which deletes at most `limit` rows
 * @returns how many rows were deleted
 */
export async function removeInBatches(
  commit: Commit,
  removals: (limit: number) => readonly Change[],
): Promise<number> {
  let removed = 0
  for (let round = 0; round < maxBatches; round++) {
    const results = await commit(removals(batchSize))
    for (const { changes } of results) removed += changes
    if (results.every(({ changes }) => changes < batchSize)) break
  }
  return removed
}
