/** Counts what many owners hold of something, bytes or places, with a limit for all together and one for each. */
export class KeyedLimiter {
  readonly #max: number
  readonly #maxPerOwner: number
  /** Only those that hold something. */
  readonly #held = new Map<string, number>()
  #sum = 0

  constructor(max: number, maxPerOwner: number) {
    this.#max = max
    this.#maxPerOwner = maxPerOwner
  }

  /** false when it would be too much. */
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
