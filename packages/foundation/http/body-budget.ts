import { bucketKey } from './rate-limit/token-buckets.ts'

/** A body up to this size is small: a part of the budget is kept for such, and it is read whoever sends it. */
export const smallBodyBytes = 64 * 1024

/** A large JSON body is there as bytes, as a text, and as the values in it. */
export const jsonCost = 3

/**
 * Bytes of bodies, and of what is made of them, that are being held at the same time, across all requests of this process. An
 * eighth is kept for small ones, so that large ones never keep them out, and one client holds at most a half, or one body
 * of the largest size.
 */
export class BodyBudget {
  readonly #limit: number
  readonly #clientLimit: number
  /** Only of clients that hold something: as many as there are bodies at most. */
  readonly #byClient = new Map<string, number>()
  #held = 0

  constructor(limit: number, maxBodyBytes = limit) {
    this.#limit = limit
    this.#clientLimit = Math.max(limit / 2, maxBodyBytes * jsonCost)
  }

  /** False when it would be too much. `client`: what counts as one client, undefined where that is not looked at */
  tryReserve(bytes: number, large: boolean, client?: string): boolean {
    if (this.#held + bytes > (large ? this.#limit * (7 / 8) : this.#limit)) return false
    if (client !== undefined) {
      const byThisClient = (this.#byClient.get(client) ?? 0) + bytes
      if (byThisClient > this.#clientLimit) return false
      this.#byClient.set(client, byThisClient)
    }
    this.#held += bytes
    return true
  }

  release(bytes: number, client?: string): void {
    this.#held -= bytes
    if (client === undefined) return
    const left = (this.#byClient.get(client) ?? 0) - bytes
    if (left > 0) this.#byClient.set(client, left)
    else this.#byClient.delete(client)
  }

  get held(): number {
    return this.#held
  }

  /** Clients that hold something. */
  get clients(): number {
    return this.#byClient.size
  }
}

/** The share of one body in the budget, until it is given back, once. */
export class BodyReservation {
  readonly #budget: BodyBudget
  readonly #address: string
  readonly #cost: number
  #client: string | undefined
  #bytes = 0

  /** @param cost bytes that each byte of a large body takes while its request is served */
  constructor(budget: BodyBudget, address: string, cost = 1) {
    this.#budget = budget
    this.#address = address
    this.#cost = cost
  }

  get bytes(): number {
    return this.#bytes
  }

  /** All of a small body at once: nobody can hold it up, and it costs no look at its client. */
  reserveSmall(bytes: number): boolean {
    if (!this.#budget.tryReserve(bytes, false)) return false
    this.#bytes = bytes
    return true
  }

  /** False when it would be too much. */
  reserveMore(more: number, large: boolean): boolean {
    this.#client ??= bucketKey(this.#address)
    const bytes = large ? more * this.#cost : more
    if (!this.#budget.tryReserve(bytes, large, this.#client)) return false
    this.#bytes += bytes
    return true
  }

  release(): void {
    this.#budget.release(this.#bytes, this.#client)
    this.#bytes = 0
  }
}
