import { hash } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'

/**
 * Remembers what verified tokens said until they expire, by their SHA-256, so that a caller who comes again costs one
 * hash and one look-up instead of a signature check. Failures are not remembered. Bounded: the oldest goes first.
 */
export interface TokenCache<V> {
  get(compact: string): V | undefined
  /** @param expiresAt Unix seconds */
  put(compact: string, value: V, expiresAt: number): void
  readonly size: number
}

export function createTokenCache<V>(options: {
  readonly capacity: number
  readonly clock: Clock
}): TokenCache<V> {
  const entries = new Map<string, { readonly value: V; readonly until: number }>()
  const keyOf = (compact: string): string => hash('sha256', compact, 'latin1')
  return {
    get(compact) {
      const key = keyOf(compact)
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (options.clock.now() < entry.until) return entry.value
      entries.delete(key)
      return undefined
    },
    put(compact, value, expiresAt) {
      const key = keyOf(compact)
      entries.delete(key) // so that it counts as the youngest, and takes no other's place
      if (entries.size >= options.capacity) {
        const [oldest] = entries.keys()
        if (oldest !== undefined) entries.delete(oldest)
      }
      entries.set(key, { value, until: expiresAt * 1000 })
    },
    get size() {
      return entries.size
    },
  }
}
