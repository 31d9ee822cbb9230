import { andThen, BoundedMap, type Clock, type MaybePromise } from '@warder/base'
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
  /** PostgreSQL: how long an entry may be trusted without a query (0 = query each time). */
  readonly leaseMs: number
  readonly clock: Clock
  /** Called when an entry leaves the cache, e.g. to wipe its value. */
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
  return new VersionedRows(options)
}

class VersionedRows<V> implements RowCache<V> {
  readonly #options: RowCacheOptions<V>
  readonly #db: Database
  readonly #clock: Clock
  /** Each use queries the database. */
  readonly #strict: boolean
  readonly #entries: BoundedMap<string, Entry<V>>
  readonly #loading = new Map<string, Promise<V | undefined>>()
  #hits = 0
  #misses = 0

  constructor(options: RowCacheOptions<V>) {
    this.#options = options
    this.#entries = new BoundedMap(options.capacity, ({ value }) => options.onForget?.(value))
    this.#db = options.db
    this.#clock = options.clock
    this.#strict = options.db.dialect === 'sqlite' || options.leaseMs === 0
    options.db.watch(options.topic, (key) => {
      if (key !== undefined) this.forget(key)
      else for (const known of [...this.#loading.keys(), ...this.#entries.keys()]) this.forget(known)
    })
  }

  get(key: string): MaybePromise<V | undefined> {
    const entry = this.#entries.get(key)
    if (entry === undefined) {
      this.#misses += 1
      return this.#load(key)
    }
    this.#hits += 1
    const { leaseMs, version } = this.#options
    if (!this.#strict && this.#clock.monotonic() - entry.checkedAt < leaseMs) return this.#touch(key, entry)
    const seen = this.#db.dataVersion?.()
    if (seen !== undefined && seen === entry.seen) return this.#touch(key, entry)
    const asked = { at: this.#clock.monotonic(), seen }
    return andThen(this.#db.get(version, [key]), (row) => this.#revalidate(key, entry, row, asked))
  }

  /** Also discards a load that is under way, which may have read before the change. */
  forget(key: string): void {
    this.#loading.delete(key)
    this.#drop(key)
  }

  get size(): number {
    return this.#entries.size
  }

  get uses(): { readonly hits: number; readonly misses: number } {
    return { hits: this.#hits, misses: this.#misses }
  }

  #touch(key: string, entry: Entry<V>): V {
    // Re-inserting keeps the map in order of use; cheap enough only when the cache is near its bound.
    if (this.#entries.size > this.#options.capacity / 2) this.#entries.set(key, entry)
    return entry.value
  }

  #revalidate(
    key: string,
    entry: Entry<V>,
    row: { readonly version: number } | undefined,
    asked: { readonly at: number; readonly seen: number | undefined },
  ): MaybePromise<V | undefined> {
    // Removed or reloaded while its version was read: the read value may be older. Each change does this
    // once.
    if (this.#entries.get(key) !== entry) return this.get(key)
    if (row === undefined) {
      this.forget(key)
      return undefined
    }
    if (row.version !== entry.version) return this.#load(key)
    entry.checkedAt = asked.at
    entry.seen = asked.seen
    return this.#touch(key, entry)
  }

  /** A load that is under way may have read before a commit that this caller already knows of. */
  #load(key: string): Promise<V | undefined> {
    const pending = this.#loading.get(key)
    if (pending === undefined) return this.#begin(key)
    return this.#strict ? pending.then(() => this.#loadSince(key)) : pending
  }

  /** For callers that waited for an earlier load: one that began after they asked, which they share. */
  #loadSince(key: string): MaybePromise<V | undefined> {
    return this.#entries.has(key) ? this.get(key) : (this.#loading.get(key) ?? this.#begin(key))
  }

  #begin(key: string): Promise<V | undefined> {
    const checkedAt = this.#clock.monotonic()
    const seen = this.#db.dataVersion?.()
    const loading: Promise<V | undefined> = this.#options
      .load(key)
      .then((loaded) => {
        if (this.#loading.get(key) !== loading) return loaded?.value
        this.#drop(key)
        if (loaded !== undefined && loaded.passing !== true)
          this.#entries.set(key, { ...loaded, checkedAt, seen })
        return loaded?.value
      })
      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key)
      })
    this.#loading.set(key, loading)
    return loading
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#options.onForget?.(entry.value)
  }
}
