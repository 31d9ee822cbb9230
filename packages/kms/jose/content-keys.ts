import type { BackendKey, DescribedKey } from '../backend/index.ts'

type OfOneKey = Map<string, BackendKey>

interface Slot {
  /** Weak, so that what a key has opened goes with the key, whatever is remembered of others. */
  readonly of: WeakRef<OfOneKey>
  readonly wrapping: string
}

/**
 * Content keys of tokens that have opened, so that a token that is read often costs one private operation. Only what a
 * whole token has proven by its tag comes in: an answer that is sooner says nothing that the answer before did not, and
 * what stands for a wrong content key (RFC 7516 §11.5) is never here. Beyond `capacity` the oldest leaves; those of an
 * RSA key live no longer than its material does in memory.
 */
export class ContentKeys {
  readonly #opened = new WeakMap<DescribedKey, { readonly map: OfOneKey; readonly weak: WeakRef<OfOneKey> }>()
  readonly #places: Slot[] = []
  readonly #capacity: number
  #next = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** @param wrapping everything that says how the content key was wrapped, and its size */
  get(key: DescribedKey, wrapping: string): BackendKey | undefined {
    return this.#opened.get(key)?.map.get(wrapping)
  }

  add(key: DescribedKey, wrapping: string, contentKey: BackendKey): void {
    let known = this.#opened.get(key)
    if (known === undefined) {
      const map: OfOneKey = new Map()
      known = { map, weak: new WeakRef(map) }
      this.#opened.set(key, known)
    }
    if (known.map.has(wrapping)) return
    const oldest = this.#places[this.#next]
    oldest?.of.deref()?.delete(oldest.wrapping)
    this.#places[this.#next] = { of: known.weak, wrapping }
    this.#next = (this.#next + 1) % this.#capacity
    known.map.set(wrapping, contentKey)
  }
}
