import type { Standing } from './standing-store.ts'

/**
 * The last known primary, for all threads of a process: its database system, and the highest timeline. A primary with a
 * lower timeline is a former primary that came back after a failover; its writes would be lost.
 */
export class PrimaryMemory {
  readonly #values: BigUint64Array

  constructor(memory: SharedArrayBuffer) {
    this.#values = new BigUint64Array(memory)
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * BigUint64Array.BYTES_PER_ELEMENT)
  }

  get timeline(): number {
    return Number(Atomics.load(this.#values, 1))
  }

  /** The reason why this is neither the known primary nor a later one; undefined = it is. */
  findObjection({ system, timeline }: Standing): string | undefined {
    const known = Atomics.load(this.#values, 0)
    if (system !== undefined && known !== 0n && system !== known)
      return `another database system (${system}) than the known one (${known})`
    if (timeline !== undefined && timeline < this.timeline)
      return `on timeline ${timeline}, although timeline ${this.timeline} exists: a former primary`
    return undefined
  }

  /** @returns the previous timeline, if this call raised it */
  learn({ system, timeline }: Standing): number | undefined {
    if (system !== undefined) Atomics.compareExchange(this.#values, 0, 0n, system)
    if (timeline === undefined) return undefined
    for (;;) {
      const known = Atomics.load(this.#values, 1)
      if (BigInt(timeline) <= known) return undefined
      if (Atomics.compareExchange(this.#values, 1, known, BigInt(timeline)) === known)
        return known === 0n ? undefined : Number(known)
    }
  }
}
