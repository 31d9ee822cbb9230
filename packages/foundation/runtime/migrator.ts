import { migrate, planOf } from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import type { Components } from './components.ts'
import { connect, type DatabasePlace } from './database.ts'

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
export function migrator(place: DatabasePlace, db: Database, components: Components): Migrator {
  let own: Database | undefined
  return {
    async run(component) {
      const migrations = components.get(component) ?? []
      if ((await planOf(db, component, migrations)).pending.length === 0) return
      if (place.kind === 'postgresql')
        own ??= await connect({ ...place, ...oneAtATime, limits: limitsOf(place) }, undefined)
      await migrate(own ?? db, component, migrations)
    },
    async close() {
      await own?.close()
      own = undefined
    },
  }
}

const oneAtATime = { readers: 1, writers: 1 }

function limitsOf({ limits, migrationMs }: Extract<DatabasePlace, { kind: 'postgresql' }>) {
  return { ...limits, statement: migrationMs, lock: lockMs }
}
