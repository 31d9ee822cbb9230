import { type Clock, failure } from '@warder/base'
import type { ExternalStoreName } from '@warder/keys'
import { createRowCache, type Database } from '@warder/storage'
import {
  type ExternalStoreRow,
  externalStoreTopic,
  externalStoreVersion,
  readExternalStore,
} from './external-store-store.ts'

/** Whether an external key store was stopped; checked on each of its requests. */
export interface StopSwitch {
  /** Current on SQLite; at most one lease old on PostgreSQL. */
  state(store: ExternalStoreName): Promise<ExternalStoreRow>
}

export interface StopSwitchOptions {
  readonly db: Database
  readonly clock: Clock
  /** PostgreSQL only: see `createRowCache`. */
  readonly leaseMs: number
}

export function createStopSwitch({ db, clock, leaseMs }: StopSwitchOptions): StopSwitch {
  const rows = createRowCache<ExternalStoreRow>({
    db,
    clock,
    leaseMs,
    topic: externalStoreTopic,
    version: externalStoreVersion,
    capacity: 16,
    async load(name) {
      const row = await readExternalStore(db, name as ExternalStoreName)
      return row && { version: row.version, value: row }
    },
  })
  return {
    async state(store) {
      const row = await rows.get(store)
      if (row === undefined) throw failure('internal_error', `there is no row of the external store ${store}`)
      return row
    },
  }
}
