import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '@warder/base'
import type { ServiceName } from '@warder/command-line/endpoints'
import { inspectDatabase, type ServiceLaunch, toDatabaseLocation } from '@warder/runtime/launch'
import { getDatabaseBytes, type MigrationPlan } from '@warder/storage'

/**
 * Warns if the disk may be too small to upgrade a SQLite database: a migration that rewrites a table needs its size twice,
 * in the write-ahead log and in the file.
 * @param path of the database
 */
function warnOfDiskSpace(path: string): string | undefined {
  const folder = dirname(path)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const size = getDatabaseBytes(path)
  if (free >= 2 * size) return undefined
  return `${path} has ${formatKib(size)} and its disk ${formatKib(free)} free: an upgrade may need twice the size of the database. If the disk is full, free some space and start again`
}

const formatKib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`

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
