/** Readings take at most a hundredth of the time. */
const minPauseFactor = 100

/**
 * Caches the result of a costly reading.
 * @param everyMs it is read again after that, or after a hundred times what the last reading took, if that is longer
 * @param monotonic milliseconds
 */
export function memoizeFor<T>(
  read: () => T | Promise<T>,
  everyMs: number,
  monotonic: () => number,
): () => Promise<T> {
  let known: Promise<T> | undefined
  let until = 0
  return () => {
    const now = monotonic()
    if (known !== undefined && now < until) return known
    until = now + everyMs
    const reading = (async () => read())()
    known = reading
    reading.then(
      () => {
        const tookMs = monotonic() - now
        until = Math.max(until, now + tookMs * minPauseFactor)
      },
      () => {
        // The next one asks again.
        if (known === reading) known = undefined
      },
    )
    return reading
  }
}
