import { failure } from '@warder/foundation/errors'
import { bucketKey } from '@warder/foundation/http'

/**
 * Callers that may wait for another service at one time, and of these how many from one address (of IPv6 from one /64):
 * nobody alone keeps everybody else out.
 */
export class Places {
  readonly #most: number
  readonly #mostOfOne: number
  readonly #told: string
  readonly #taken = new Map<string, number>()
  #all = 0

  /** @param told what is too many, for the log */
  constructor(most: number, told: string) {
    this.#most = most
    this.#mostOfOne = Math.ceil(most / 4)
    this.#told = told
  }

  /** @throws failure('overloaded') at once when there is no place, or none left for this address */
  async hold<R>(clientAddress: string, work: () => Promise<R>): Promise<R> {
    const key = bucketKey(clientAddress)
    const taken = this.#taken.get(key) ?? 0
    if (this.#all >= this.#most || taken >= this.#mostOfOne)
      throw failure('overloaded', this.#told, { retryAfterSeconds: 1 })
    this.#all++
    this.#taken.set(key, taken + 1)
    try {
      return await work()
    } finally {
      this.#all--
      const left = (this.#taken.get(key) ?? 1) - 1
      if (left > 0) this.#taken.set(key, left)
      else this.#taken.delete(key)
    }
  }
}
