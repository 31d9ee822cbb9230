import { systemClock } from '@warder/base'
import { inspectDatabase, type ServiceLaunch, toDatabaseLocation } from '@warder/runtime'
import type { MigrationPlan } from '@warder/storage'
import type { ServiceName } from '../installation/services.ts'
import { warnOfDiskSpace } from './disk-space.ts'

/** State of a database before a start of its service. */
export interface DatabaseState {
  readonly service: ServiceName
  /** `SQLite` or `PostgreSQL`; not the address, which may contain a password. */
  readonly engine: string
  /** By component; undefined: there is no database yet, or it cannot be used. */
  readonly plans: ReadonlyMap<string, MigrationPlan> | undefined
  /** Why a start would be refused. */
  readonly refusal: string | undefined
  /** A warning for the operator. */
  readonly warning: string | undefined
}

/** Reads the state of a database; a reason to refuse the start is part of it, not an error. */
export async function readDatabaseState(service: ServiceName, launch: ServiceLaunch): Promise<DatabaseState> {
  const place = toDatabaseLocation(launch.config, launch.home, service)
  const engine = place.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  const found = await inspectDatabase(launch, place, systemClock.now())
  const isChanged = [...(found.plans?.values() ?? [])].some(({ pending }) => pending.length > 0)
  const warning = isChanged && place.kind === 'sqlite' ? warnOfDiskSpace(place.path) : undefined
  return { service, engine, ...found, warning }
}
