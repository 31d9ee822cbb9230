import { KeyedLimiter } from '@warder/base'
import { bucketKey } from './token-buckets.ts'

/** Bodies up to this size are small: part of the budget is reserved for them, and they are read before authentication. */
export const smallBodyBytes = 64 * 1024

/** A large JSON body is in memory as bytes, as text, and as parsed values. */
export const jsonCost = 3

/**
 * Limits the memory of all request bodies of this process, and of the values parsed from them. An eighth is reserved for
 * small bodies, and one client may use at most half of the budget, or one body of the maximum size.
 */
export class BodyBudget {
  readonly #limiter: KeyedLimiter
  readonly #maxForLarge: number

  constructor(limit: number, maxBodyBytes = limit) {
    this.#limiter = new KeyedLimiter(limit, Math.max(limit / 2, maxBodyBytes * jsonCost))
    this.#maxForLarge = limit * (7 / 8)
  }

  /** Reserves bytes, unless a limit would be exceeded. @param client key of the client; undefined = no limit for each client */
  tryReserve(bytes: number, large: boolean, client?: string): boolean {
    if (large && this.held + bytes > this.#maxForLarge) return false
    return this.#limiter.tryAcquire(client, bytes)
  }

  release(bytes: number, client?: string): void {
    this.#limiter.release(client, bytes)
  }

  get held(): number {
    return this.#limiter.held
  }

  /** Clients with reserved bytes. */
  get clients(): number {
    return this.#limiter.owners
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
