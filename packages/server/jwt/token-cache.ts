import { hash, timingSafeEqual } from 'node:crypto'
import { BoundedMap, type Clock } from '@warder/base'

/**
 * Caches the results of verified tokens by their SHA-256 until they expire, so that a repeated token costs one hash and one
 * look-up instead of a signature check. Failures are not cached. The oldest entry is removed first; no entry outlives its
 * token, even when the wall clock is set back.
 */
export interface TokenCache<V> {
  /** @param connection of the request: a token repeated on it costs a comparison instead of the hash */
  get(compact: string, connection: object): V | undefined
  /** @param expiresAt Unix seconds */
  put(compact: string, value: V, expiresAt: number): void
  readonly size: number
}

interface Entry<V> {
  readonly value: V
  /** Wall clock, milliseconds. */
  readonly until: number
  /** The same end on the monotonic clock. */
  readonly untilMonotonic: number
}

/** The token that a connection showed last, and its hash. */
interface ShownToken {
  /** Header and payload, with their dots. */
  readonly signed: string
  readonly signature: Buffer
  readonly key: string
}

export function createTokenCache<V>(options: {
  readonly capacity: number
  readonly clock: Clock
}): TokenCache<V> {
  const { clock } = options
  const entries = new BoundedMap<string, Entry<V>>(options.capacity)
  const shown = new WeakMap<object, ShownToken>()

  /**
   * Behind a proxy several callers share a connection. The signature is compared in constant time, so that it cannot be
   * guessed.
   */
  function findKey(connection: object, compact: string): string {
    const last = shown.get(connection)
    if (last === undefined) return hashToken(compact)
    const cut = compact.lastIndexOf('.') + 1
    if (cut !== last.signed.length || compact.length - cut !== last.signature.length)
      return hashToken(compact)
    if (compact.slice(0, cut) !== last.signed) return hashToken(compact)
    const same = timingSafeEqual(last.signature, Buffer.from(compact.slice(cut), 'latin1'))
    return same ? last.key : hashToken(compact)
  }

  function remember(connection: object, compact: string, key: string): void {
    const cut = compact.lastIndexOf('.') + 1
    // Copies, because a slice of a string keeps the whole head of its request in memory, and a slice of the buffer pool
    // the whole pool.
    const signed = Buffer.from(compact.slice(0, cut), 'latin1').toString('latin1')
    const signature = Buffer.alloc(compact.length - cut, compact.slice(cut), 'latin1')
    shown.set(connection, { signed, signature, key })
  }

  return {
    get(compact, connection) {
      const key = findKey(connection, compact)
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (clock.now() < entry.until && clock.monotonic() < entry.untilMonotonic) {
        if (shown.get(connection)?.key !== key) remember(connection, compact, key)
        return entry.value
      }
      entries.delete(key)
      return undefined
    },
    put(compact, value, expiresAt) {
      const until = expiresAt * 1000
      const untilMonotonic = clock.monotonic() + (until - clock.now())
      entries.set(hashToken(compact), { value, until, untilMonotonic })
    },
    get size() {
      return entries.size
    },
  }
}

function hashToken(compact: string): string {
  return hash('sha256', compact, 'latin1')
}
