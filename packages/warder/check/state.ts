import { existsSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'
import { databasePlace, migrationPlans, type ServiceLaunch } from '@warder/foundation/runtime'
import type { MigrationPlan } from '@warder/foundation/sql'
import type { ServiceName } from '../installation/services.ts'
import { roomWarning } from './room.ts'

/** State of a database as a start of its service would find it. */
export interface DatabaseState {
  readonly service: ServiceName
  /** `SQLite` or `PostgreSQL`: an address may hold a password. */
  readonly engine: string
  /** By component; undefined: there is no database yet, or it cannot be used. */
  readonly plans: ReadonlyMap<string, MigrationPlan> | undefined
  /** Why a start would be refused. */
  readonly refusal: string | undefined
  /** What else the operator should know. */
  readonly warning: string | undefined
}

/** @returns what the start would do; its refusal is no error */
export async function stateOf(service: ServiceName, launch: ServiceLaunch): Promise<DatabaseState> {
  const place = databasePlace(launch.config, launch.home, service)
  const engine = place.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  const nothing = { service, engine, plans: undefined, refusal: undefined, warning: undefined }
  // Opening it would make it.
  if (place.kind === 'sqlite' && !existsSync(place.path)) return nothing
  try {
    const found = await migrationPlans(launch, place)
    const isChanged = [...(found.plans?.values() ?? [])].some(({ pending }) => pending.length > 0)
    const warning = isChanged && place.kind === 'sqlite' ? roomWarning(place.path) : undefined
    return { ...nothing, ...found, warning }
  } catch (error) {
    if (error instanceof StartupError) return { ...nothing, refusal: error.message }
    throw error
  }
}
