/** Limits an amount, e.g. of bytes or slots, in total and for each owner. */
export class KeyedLimiter {
  readonly #max: number
  readonly #maxPerOwner: number
  /** Only owners with an amount above 0. */
  readonly #held = new Map<string, number>()
  #sum = 0

  constructor(max: number, maxPerOwner: number) {
    this.#max = max
    this.#maxPerOwner = maxPerOwner
  }

  /** @returns false when a limit would be exceeded */
  tryAcquire(owner: string, amount: number): boolean {
    const held = (this.#held.get(owner) ?? 0) + amount
    if (held > this.#maxPerOwner || this.#sum + amount > this.#max) return false
    this.#set(owner, held)
    this.#sum += amount
    return true
  }

  release(owner: string, amount: number): void {
    this.#set(owner, (this.#held.get(owner) ?? 0) - amount)
    this.#sum -= amount
  }

  #set(owner: string, held: number): void {
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }
}
