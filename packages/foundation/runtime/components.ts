import { preparedCommitMigrations } from '../audit/index.ts'
import { sealMigrations } from '../seal/index.ts'
import {
  commitCountMigrations,
  leaseMigrations,
  type MigrationPlan,
  planMigration,
  requireUsable,
  schemaMigrations,
} from '../sql/index.ts'
import type { Database, Migration } from '../sql/types.ts'

/** Whoever owns tables in a service's database, by name, in the order in which a start brings them up to date. */
export type Components = ReadonlyMap<string, readonly Migration[]>

export function listComponents(definition: {
  readonly name: string
  readonly migrations: readonly Migration[]
}): Components {
  return new Map([
    ['schema', schemaMigrations],
    ['commit count', commitCountMigrations],
    ['seal', sealMigrations],
    ['lease', leaseMigrations],
    [definition.name, definition.migrations],
    ['audit', preparedCommitMigrations],
  ])
}

/**
 * How far a database is from what the program knows, of each component; nothing is changed.
 * @throws StartupError when a released migration was changed
 */
export async function planMigrations(
  db: Database,
  components: Components,
): Promise<ReadonlyMap<string, MigrationPlan>> {
  const plans = new Map<string, MigrationPlan>()
  for (const [component, migrations] of components)
    plans.set(component, await planMigration(db, component, migrations))
  return plans
}

/** @throws StartupError when the program does not get along with what a newer one did */
export function requireUsablePlans(components: Components, plans: ReadonlyMap<string, MigrationPlan>): void {
  for (const [component, plan] of plans)
    requireUsable(component, components.get(component)?.length ?? 0, plan)
}
