import { bucketKey } from './rate-limit/token-buckets.ts'

/** A body up to this size is small: a part of the budget is kept for such, and it is read whoever sends it. */
export const smallBody = 64 * 1024

/**
 * Bytes of bodies that are being held at the same time, across all requests of this process. An eighth is kept for small
 * ones, so that large ones never keep them out, and one client holds at most a quarter, or one body of the largest size.
 */
export class BodyBudget {
  readonly #limit: number
  readonly #clientLimit: number
  /** Only of clients that hold something: as many as there are bodies at most. */
  readonly #ofClients = new Map<string, number>()
  #held = 0

  constructor(limit: number, largestBody = limit) {
    this.#limit = limit
    this.#clientLimit = Math.max(limit / 4, largestBody)
  }

  /** False when it would be too much. `client`: what counts as one client, undefined where that is not looked at */
  take(bytes: number, large: boolean, client?: string): boolean {
    if (this.#held + bytes > (large ? this.#limit * (7 / 8) : this.#limit)) return false
    if (client !== undefined) {
      const ofClient = (this.#ofClients.get(client) ?? 0) + bytes
      if (ofClient > this.#clientLimit) return false
      this.#ofClients.set(client, ofClient)
    }
    this.#held += bytes
    return true
  }

  give(bytes: number, client?: string): void {
    this.#held -= bytes
    if (client === undefined) return
    const left = (this.#ofClients.get(client) ?? 0) - bytes
    if (left > 0) this.#ofClients.set(client, left)
    else this.#ofClients.delete(client)
  }

  get held(): number {
    return this.#held
  }

  /** Clients that hold something. */
  get clients(): number {
    return this.#ofClients.size
  }
}

/** The share of one body in the budget, until it is given back, once. */
export class Holding {
  readonly #budget: BodyBudget
  readonly #address: string
  #client: string | undefined
  #bytes = 0

  constructor(budget: BodyBudget, address: string) {
    this.#budget = budget
    this.#address = address
  }

  get bytes(): number {
    return this.#bytes
  }

  /** All of a small body at once: nobody can hold it up, and it costs no look at its client. */
  takeWhole(bytes: number): boolean {
    if (!this.#budget.take(bytes, false)) return false
    this.#bytes = bytes
    return true
  }

  /** False when it would be too much. */
  takeMore(bytes: number, large: boolean): boolean {
    this.#client ??= bucketKey(this.#address)
    if (!this.#budget.take(bytes, large, this.#client)) return false
    this.#bytes += bytes
    return true
  }

  giveBack(): void {
    this.#budget.give(this.#bytes, this.#client)
    this.#bytes = 0
  }
}
