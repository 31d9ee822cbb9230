/** Time is passed in, so that a test can hold it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970 (for dates that people and other machines read). */
  now(): number
  /** Monotonic milliseconds (for durations, leases and limits: never jumps). */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

/** Whole Unix seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}
