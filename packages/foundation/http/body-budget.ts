import { bucketKey } from './rate-limit/token-buckets.ts'

/** Bodies up to this size are small: part of the budget is reserved for them, and they are read before authentication. */
export const smallBodyBytes = 64 * 1024

/** A large JSON body is in memory as bytes, as text, and as parsed values. */
export const jsonCost = 3

/**
 * Limits the memory of all request bodies of this process, and of the values parsed from them. An eighth is reserved for
 * small bodies, and one client may use at most half of the budget, or one body of the maximum size.
 */
export class BodyBudget {
  readonly #limit: number
  readonly #clientLimit: number
  /** Only clients with reserved bytes: at most as many as there are bodies. */
  readonly #byClient = new Map<string, number>()
  #held = 0

  constructor(limit: number, maxBodyBytes = limit) {
    this.#limit = limit
    this.#clientLimit = Math.max(limit / 2, maxBodyBytes * jsonCost)
  }

  /** Reserves bytes, unless a limit would be exceeded. @param client key of the client; undefined = no limit for each client */
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

/** The bytes of the budget that one body reserves, until they are released, once. */
export class BodyReservation {
  readonly #budget: BodyBudget
  readonly #address: string
  readonly #cost: number
  #client: string | undefined
  #bytes = 0

  /** @param cost bytes that each byte of a large body occupies while its request is served */
  constructor(budget: BodyBudget, address: string, cost = 1) {
    this.#budget = budget
    this.#address = address
    this.#cost = cost
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Reserves a small body at once, without a limit for its client: it arrives in one piece. */
  reserveSmall(bytes: number): boolean {
    if (!this.#budget.tryReserve(bytes, false)) return false
    this.#bytes = bytes
    return true
  }

  /** Reserves further bytes, unless a limit would be exceeded. */
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
