import type { Clock } from '../clock/clock.ts'
import type { MaybePromise } from '../promises/and-then.ts'
import { andThen } from '../promises/and-then.ts'
import type { Database, Query, RowCache } from './types.ts'

export interface RowCacheOptions<V> {
  readonly db: Database
  /** Topic of `db.changed` that commits to these rows announce. */
  readonly topic: string
  /** Reads the row's version; no row = it does not exist. */
  readonly version: Query<[key: string], { readonly version: number }>
  load(key: string): Promise<Loaded<V> | undefined>
  /** Entries at most; the least recently used goes first. */
  readonly capacity: number
  /** PostgreSQL: how long an entry may be trusted without asking again (0 = ask each time). */
  readonly leaseMs: number
  readonly clock: Clock
  /** Called when an entry leaves the cache, e.g. to wipe what it holds. */
  onForget?(value: V): void
}

interface Loaded<V> {
  readonly version: number
  readonly value: V
  /** true: for those that wait for it only; the next use loads it again. */
  readonly passing?: boolean
}

interface Entry<V> {
  readonly version: number
  readonly value: V
  checkedAt: number
  /** `db.dataVersion` before the row was last read; the row is still that while the number is. */
  seen: number | undefined
}

/**
 * A cache of rows that is never stale about rights and states. On SQLite every use checks whether a commit has happened since
 * the row was last read, and if so reads the row's version again, so a commit of any process is seen by the next request of
 * every other. On PostgreSQL an entry is trusted for the lease unless a change was announced.
 * Versions of a row only grow; ids are never used again, so a version names one content.
 */
export function createRowCache<V>(options: RowCacheOptions<V>): RowCache<V> {
  const entries = new Map<string, Entry<V>>()
  const loading = new Map<string, Promise<V | undefined>>()
  const { db, clock } = options
  let hits = 0
  let misses = 0
  const strict = db.dialect === 'sqlite' || options.leaseMs === 0

  const drop = (key: string): void => {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    options.onForget?.(entry.value)
  }
  /** Also discards a load that is under way, which may have read before the change. */
  const forget = (key: string): void => {
    loading.delete(key)
    drop(key)
  }
  db.watch(options.topic, (key) => {
    if (key !== undefined) forget(key)
    else for (const known of [...loading.keys(), ...entries.keys()]) forget(known)
  })

  const touch = (key: string, entry: Entry<V>): V => {
    // Re-inserting keeps the map in order of use; cheap enough only when the cache is near its bound.
    if (entries.size > options.capacity / 2) {
      entries.delete(key)
      entries.set(key, entry)
    }
    return entry.value
  }

  /** A load that is under way may have read before a commit that this caller already knows of. */
  const load = (key: string): Promise<V | undefined> => {
    const pending = loading.get(key)
    if (pending === undefined) return begin(key)
    return strict ? pending.then(() => loadSince(key)) : pending
  }

  /** For callers that waited for an earlier load: one that began after they asked, which they share. */
  const loadSince = (key: string): MaybePromise<V | undefined> =>
    entries.has(key) ? get(key) : (loading.get(key) ?? begin(key))

  const begin = (key: string): Promise<V | undefined> => {
    const began = clock.monotonic()
    const seen = db.dataVersion?.()
    const fresh: Promise<V | undefined> = options
      .load(key)
      .then((loaded) => {
        if (loading.get(key) !== fresh) return loaded?.value
        drop(key)
        if (loaded === undefined || loaded.passing === true) return loaded?.value
        entries.set(key, { ...loaded, checkedAt: began, seen })
        if (entries.size > options.capacity) {
          const [oldest] = entries.keys()
          if (oldest !== undefined) drop(oldest)
        }
        return loaded.value
      })
      .finally(() => {
        if (loading.get(key) === fresh) loading.delete(key)
      })
    loading.set(key, fresh)
    return fresh
  }

  const revalidate = (
    key: string,
    entry: Entry<V>,
    row: { readonly version: number } | undefined,
    asked: { readonly at: number; readonly seen: number | undefined },
  ): MaybePromise<V | undefined> => {
    // Forgotten, or loaded anew, while its version was read: what was read may be older. Each change does this once.
    if (entries.get(key) !== entry) return get(key)
    if (row === undefined) {
      forget(key)
      return undefined
    }
    if (row.version !== entry.version) return load(key)
    entry.checkedAt = asked.at
    entry.seen = asked.seen
    return touch(key, entry)
  }

  function get(key: string): MaybePromise<V | undefined> {
    const entry = entries.get(key)
    if (entry === undefined) {
      misses += 1
      return load(key)
    }
    hits += 1
    if (!strict && clock.monotonic() - entry.checkedAt < options.leaseMs) return touch(key, entry)
    const seen = db.dataVersion?.()
    if (seen !== undefined && seen === entry.seen) return touch(key, entry)
    const asked = { at: clock.monotonic(), seen }
    return andThen(db.get(options.version, [key]), (now) => revalidate(key, entry, now, asked))
  }

  return {
    get,
    forget,
    get size() {
      return entries.size
    },
    get uses() {
      return { hits, misses }
    },
  }
}
