import { type Change, change, type Database, query } from '@warder/storage'

/**
 * How long the service has run, counted in ticks of a timer that are a minute apart, not by the wall clock: a clock
 * that jumps cannot shorten a wait. The time that one tick adds is bounded, so that a jump adds no more than a normal
 * tick; while no node runs, no time is added.
 */

/** Interval of ticks, milliseconds. */
export const lookEveryMs = 60_000
/** Max time that one tick adds. */
const maxPerLookMs = lookEveryMs

interface RunningTime {
  readonly ran_ms: number
  readonly seen_at: number
}

const read = query<[], RunningTime>(`SELECT ran_ms, seen_at FROM running_time WHERE name = 'service'`)
const write = query<[ran: number, now: number, before: number, seen: number], unknown>(
  `UPDATE running_time SET ran_ms = ?, seen_at = ? WHERE name = 'service' AND ran_ms = ? AND seen_at = ?`,
)

/** Milliseconds that were counted so far; at most two ticks behind. */
export async function runningTime(db: Database): Promise<number> {
  return (await db.get(read, []))?.ran_ms ?? 0
}

/** Running time after a tick at `now`: adds no negative time and never more than the interval of ticks. */
function timeAfterLook(before: RunningTime, now: number): RunningTime {
  const passed = Math.min(Math.max(now - before.seen_at, 0), maxPerLookMs)
  return { ran_ms: before.ran_ms + passed, seen_at: now }
}

/**
 * Counts the time since the last tick. Called every `lookEveryMs`, by one node.
 * @throws GuardFailed after a concurrent tick
 * @returns milliseconds that were counted so far
 */
export async function look(db: Database, now: number): Promise<number> {
  const before = (await db.get(read, [])) ?? { ran_ms: 0, seen_at: now }
  const after = timeAfterLook(before, now)
  const written: Change = change(write, [after.ran_ms, after.seen_at, before.ran_ms, before.seen_at], 1)
  await db.commit([written])
  return after.ran_ms
}
