import type { KeyObject } from 'node:crypto'
import type { KeyMaterial } from '../crypto/index.ts'

type OfOneKey = Map<string, KeyObject>

interface Place {
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
  readonly #opened = new WeakMap<KeyMaterial, { readonly map: OfOneKey; readonly weak: WeakRef<OfOneKey> }>()
  readonly #places: Place[] = []
  readonly #capacity: number
  #next = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** @param wrapping everything that says how the content key was wrapped, and its size */
  get(material: KeyMaterial, wrapping: string): KeyObject | undefined {
    return this.#opened.get(material)?.map.get(wrapping)
  }

  add(material: KeyMaterial, wrapping: string, key: KeyObject): void {
    let known = this.#opened.get(material)
    if (known === undefined) {
      const map: OfOneKey = new Map()
      known = { map, weak: new WeakRef(map) }
      this.#opened.set(material, known)
    }
    if (known.map.has(wrapping)) return
    const oldest = this.#places[this.#next]
    oldest?.of.deref()?.delete(oldest.wrapping)
    this.#places[this.#next] = { of: known.weak, wrapping }
    this.#next = (this.#next + 1) % this.#capacity
    known.map.set(wrapping, key)
  }
}
