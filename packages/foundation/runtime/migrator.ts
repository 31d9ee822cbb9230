import { migrate, planMigration } from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import type { Components } from './components.ts'
import { connect, type DatabaseLocation } from './database.ts'

/** Statements that change tables wait so long for others: whoever comes behind them waits, too. */
const lockMs = 15_000

export interface Migrator {
  /** @throws StartupError as `migrate` does */
  run(component: string): Promise<void>
  close(): Promise<void>
}

/**
 * Brings tables up to date, on PostgreSQL over a connection with time limits of its own, which is made when there is
 * something to do.
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
