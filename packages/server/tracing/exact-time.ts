import type { Clock } from '@warder/base'

/** So far the wall clock may run from what was measured, before it is believed. */
const maxDriftMs = 5

/**
 * Unix milliseconds with fractions: a commit takes less than one. Follows the wall clock when it is set.
 * @returns the time of now
 */
export function createExactTime({ now, monotonic }: Clock): () => number {
  let ahead = now() - monotonic()
  return () => {
    const wall = now()
    const exact = monotonic() + ahead
    if (Math.abs(wall - exact) <= maxDriftMs) return exact
    ahead = wall - monotonic()
    return wall
  }
}
