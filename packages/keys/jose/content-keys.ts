import type { DescribedKey } from '../backend/described-key.ts'
import type { BackendKey } from '../backend/key-backend.ts'

type OfOneKey = Map<string, BackendKey>

interface Slot {
  /** Weak, so that the entries of a key are released together with the key. */
  readonly of: WeakRef<OfOneKey>
  readonly wrapping: string
}

/**
 * Caches the content keys of decrypted tokens, so that a token that is read often costs one private operation. Only
 * keys that the tag of a whole token has verified are cached: a faster response reveals nothing that the previous
 * response did not, and substitutes of wrong content keys (RFC 7516 §11.5) are never cached. Beyond `capacity` the
 * oldest is evicted; entries of an RSA key live no longer than its material in memory.
 */
export class ContentKeys {
  readonly #opened = new WeakMap<DescribedKey, { readonly map: OfOneKey; readonly weak: WeakRef<OfOneKey> }>()
  readonly #places: Slot[] = []
  readonly #capacity: number
  #next = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** @param wrapping all parameters of the wrapping of the content key, and its size */
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
