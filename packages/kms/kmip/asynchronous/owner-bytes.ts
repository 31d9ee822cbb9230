/** Bytes that many owners hold, bounded for all of them together and for each. */
export class OwnerBytes {
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
  take(owner: string, bytes: number): boolean {
    const held = (this.#held.get(owner) ?? 0) + bytes
    if (held > this.#mostOfOwner || this.#sum + bytes > this.#most) return false
    this.#set(owner, held)
    this.#sum += bytes
    return true
  }

  give(owner: string, bytes: number): void {
    this.#set(owner, (this.#held.get(owner) ?? 0) - bytes)
    this.#sum -= bytes
  }

  #set(owner: string, held: number): void {
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }
}
