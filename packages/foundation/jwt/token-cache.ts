import { hash, timingSafeEqual } from 'node:crypto'
import { setBounded } from '../runtime/bounded-map.ts'
import type { Clock } from '../runtime/clock.ts'

/**
 * Remembers what verified tokens said until they expire, by their SHA-256, so that a caller who comes again costs one
 * hash and one look-up instead of a signature check. Failures are not remembered. Bounded: the oldest goes first.
 */
export interface TokenCache<V> {
  /** @param connection that the token came over: who shows the same one again costs a comparison instead of the hash */
  get(compact: string, connection: object): V | undefined
  /** @param expiresAt Unix seconds */
  put(compact: string, value: V, expiresAt: number): void
  readonly size: number
}

/** The token that a connection showed last, and its hash. */
interface Shown {
  readonly token: Buffer
  readonly key: string
}

export function createTokenCache<V>(options: {
  readonly capacity: number
  readonly clock: Clock
}): TokenCache<V> {
  const entries = new Map<string, { readonly value: V; readonly until: number }>()
  const shown = new WeakMap<object, Shown>()

  /** Behind a proxy several callers share a connection: the comparison takes the same time wherever they differ. */
  function keyAt(connection: object, compact: string): string {
    const last = shown.get(connection)
    if (last === undefined) return keyOf(compact)
    const token = Buffer.from(compact)
    const same = last.token.length === token.length && timingSafeEqual(last.token, token)
    return same ? last.key : keyOf(compact)
  }

  return {
    get(compact, connection) {
      const key = keyAt(connection, compact)
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (options.clock.now() < entry.until) {
        // A buffer of its own: one from the pool would keep the whole pool for as long as the connection lives.
        if (shown.get(connection)?.key !== key)
          shown.set(connection, { token: Buffer.alloc(Buffer.byteLength(compact), compact), key })
        return entry.value
      }
      entries.delete(key)
      return undefined
    },
    put(compact, value, expiresAt) {
      setBounded(entries, keyOf(compact), { value, until: expiresAt * 1000 }, options.capacity)
    },
    get size() {
      return entries.size
    },
  }
}

function keyOf(compact: string): string {
  return hash('sha256', compact, 'latin1')
}
