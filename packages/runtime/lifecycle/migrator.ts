import type { Database } from '@warder/storage'
import { migrate, planMigration } from '@warder/storage'
import type { Components } from './components.ts'
import { connect, type DatabaseLocation } from './database.ts'

/** How long a migration statement waits for a lock: later statements wait behind it. */
const lockMs = 15_000

export interface Migrator {
  /** @throws StartupError as `migrate` does */
  run(component: string): Promise<void>
  close(): Promise<void>
}

/**
 * Migrates tables; on PostgreSQL over a connection with its own time limits, which is opened on first use.
 */
export function createMigrator(location: DatabaseLocation, db: Database, components: Components): Migrator {
  let own: Database | undefined
  return {
    async run(component) {
      const migrations = components.get(component) ?? []
      if ((await planMigration(db, component, migrations)).pending.length === 0) return
      if (location.kind === 'postgresql')
        own ??= await connect({ ...location, ...oneAtATime, limits: toLimits(location) }, undefined)
      await migrate(own ?? db, component, migrations)
    },
    async close() {
      await own?.close()
      own = undefined
    },
  }
}

const oneAtATime = { readers: 1, writers: 1 }

function toLimits({ limits, migrationMs }: Extract<DatabaseLocation, { kind: 'postgresql' }>) {
  return { ...limits, statement: migrationMs, lock: lockMs }
}
