const firstWaitMs = 1_000
const maxWaitMs = 30_000
/** A service that has served for so long is healthy, and its failures are counted from zero. */
const healthyAfterMs = 60_000

/** Backoff before a restart of a service: none at first, then 1, 2, 4 … 30 seconds. */
export class RestartBackoff {
  #ends = 0
  #servingSince: number | undefined

  /** @param now monotonic milliseconds, here and below */
  served(now: number): void {
    this.#servingSince = now
  }

  get serving(): boolean {
    return this.#servingSince !== undefined
  }

  /** @returns milliseconds to wait */
  ended(now: number): number {
    if (this.#servingSince !== undefined && now - this.#servingSince >= healthyAfterMs) this.#ends = 0
    this.#servingSince = undefined
    this.#ends += 1
    return this.#ends === 1 ? 0 : Math.min(firstWaitMs * 2 ** (this.#ends - 2), maxWaitMs)
  }
}
