import { BoundedMap } from '@warder/base'
import type { Database } from './types.ts'

/** Recently read rows, reused until the next commit of any process. */
export interface UnchangedRows<V> {
  /** @param read reads it now; undefined = it does not exist, which is not remembered */
  get(key: string, read: () => Promise<V | undefined>): Promise<V | undefined>
  readonly size: number
}

/**
 * Avoids the walk through the index of a large table if the same few rows are read repeatedly. Any commit, by any
 * process and to any table, ends the memory of all of them, so nothing is ever older than a read would be. If the
 * engine does not report commits (PostgreSQL), every use reads.
 * @param capacity entries at most; the oldest goes first
 */
export function createUnchangedRows<V>(db: Database, capacity: number): UnchangedRows<V> {
  const rows = new BoundedMap<string, V>(capacity)
  let seen: number | undefined
  return {
    async get(key, read) {
      // Asked before the row is read: a commit that comes between is another number at the next use.
      const version = db.dataVersion?.()
      if (version === undefined) return read()
      if (version !== seen) {
        rows.clear()
        seen = version
      }
      const known = rows.get(key)
      if (known !== undefined) return known
      const found = await read()
      // A row that was read while another use noticed a commit may be older than that commit.
      if (found !== undefined && seen === version) rows.set(key, found)
      return found
    },
    get size() {
      return rows.size
    },
  }
}
