/** Limits an amount, e.g. of bytes or slots, in total and for each owner. */
export class KeyedLimiter {
  readonly #max: number
  readonly #maxPerOwner: number
  /** Only owners with an amount above 0. */
  readonly #byOwner = new Map<string, number>()
  #held = 0

  constructor(max: number, maxPerOwner: number) {
    this.#max = max
    this.#maxPerOwner = maxPerOwner
  }

  /** @param owner undefined: only the total limits the amount @returns false when a limit would be exceeded */
  tryAcquire(owner: string | undefined, amount: number): boolean {
    if (this.#held + amount > this.#max) return false
    if (owner !== undefined) {
      const byThisOwner = (this.#byOwner.get(owner) ?? 0) + amount
      if (byThisOwner > this.#maxPerOwner) return false
      this.#byOwner.set(owner, byThisOwner)
    }
    this.#held += amount
    return true
  }

  /** @param owner as it was acquired */
  release(owner: string | undefined, amount: number): void {
    this.#held -= amount
    if (owner === undefined) return
    const left = (this.#byOwner.get(owner) ?? 0) - amount
    if (left > 0) this.#byOwner.set(owner, left)
    else this.#byOwner.delete(owner)
  }

  get held(): number {
    return this.#held
  }

  /** Owners with an amount above 0. */
  get owners(): number {
    return this.#byOwner.size
  }
}
