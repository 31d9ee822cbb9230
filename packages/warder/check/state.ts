import {
  inspectDatabase,
  type ServiceLaunch,
  systemClock,
  toDatabaseLocation,
} from '@warder/foundation/runtime'
import type { MigrationPlan } from '@warder/foundation/sql'
import type { ServiceName } from '../installation/services.ts'
import { warnOfDiskSpace } from './disk-space.ts'

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

/** @returns what a start would find and do; its refusal is no error */
export async function readDatabaseState(service: ServiceName, launch: ServiceLaunch): Promise<DatabaseState> {
  const place = toDatabaseLocation(launch.config, launch.home, service)
  const engine = place.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  const found = await inspectDatabase(launch, place, systemClock.now())
  const isChanged = [...(found.plans?.values() ?? [])].some(({ pending }) => pending.length > 0)
  const warning = isChanged && place.kind === 'sqlite' ? warnOfDiskSpace(place.path) : undefined
  return { service, engine, ...found, warning }
}
