/** Time is passed in, so that a test can control it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970 (for dates that people and other machines read). */
  now(): number
  /** Monotonic milliseconds (for durations, leases and limits: never jumps); the same in every thread. */
  monotonic(): number
}

/** `performance.now()` counts from the start of its thread; this is the machine's own count at that time. */
const threadStart = Number(process.hrtime.bigint()) / 1e6 - performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => threadStart + performance.now(),
}

/** Whole Unix seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}
