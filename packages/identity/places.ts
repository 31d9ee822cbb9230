import { failure, KeyedLimiter } from '@warder/base'
import { bucketKey } from '@warder/server'

/**
 * Limits the callers that wait for another service at the same time, in total and per client address (IPv6: per /64):
 * one client cannot lock out the others.
 */
export class ClientLimiter {
  readonly #shares: KeyedLimiter
  readonly #told: string

  /** @param told message for the log if there are too many */
  constructor(most: number, told: string) {
    this.#shares = new KeyedLimiter(most, Math.ceil(most / 4))
    this.#told = told
  }

  /** @throws failure('overloaded') at once when there is no place, or none left for this address */
  async hold<R>(clientAddress: string, work: () => Promise<R>): Promise<R> {
    const key = bucketKey(clientAddress)
    if (!this.#shares.tryAcquire(key, 1)) throw failure('overloaded', this.#told, { retryAfterSeconds: 1 })
    try {
      return await work()
    } finally {
      this.#shares.release(key, 1)
    }
  }
}
