import { preparedCommitMigrations } from '@warder/audit'
import {
  commitCountMigrations,
  type Database,
  leaseMigrations,
  type Migration,
  type MigrationPlan,
  planMigration,
  requireUsable,
  schemaMigrations,
  sealMigrations,
} from '@warder/storage'
import { noticeMigrations } from '../notices/notice-store.ts'

/** The components that own tables in a service's database, by name, in the order in which a start migrates them. */
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
    ['notices', noticeMigrations],
    [definition.name, definition.migrations],
    ['audit', preparedCommitMigrations],
  ])
}

/**
 * Compares the migrations of each component with those that the program knows; changes nothing.
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

/** @throws StartupError when a newer program made an incompatible migration */
export function requireUsablePlans(components: Components, plans: ReadonlyMap<string, MigrationPlan>): void {
  for (const [component, plan] of plans)
    requireUsable(component, components.get(component)?.length ?? 0, plan)
}
