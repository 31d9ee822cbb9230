/** Counts what many owners hold of something, bytes or places, with a limit for all together and one for each. */
export class Shares {
  readonly #most: number
  readonly #mostOfOwner: number
  /** Only those that hold something. */
  readonly #held = new Map<string, number>()
  #sum = 0

  constructor(most: number, mostOfOwner: number) {
    this.#most = most
    this.#mostOfOwner = mostOfOwner
  }

  /** false when it would be too much. */
  take(owner: string, amount: number): boolean {
    const held = (this.#held.get(owner) ?? 0) + amount
    if (held > this.#mostOfOwner || this.#sum + amount > this.#most) return false
    this.#set(owner, held)
    this.#sum += amount
    return true
  }

  give(owner: string, amount: number): void {
    this.#set(owner, (this.#held.get(owner) ?? 0) - amount)
    this.#sum -= amount
  }

  #set(owner: string, held: number): void {
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }
}
