import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { StartupError, takeLock } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import type { ServiceName } from '@warder/command-line/endpoints'
import {
  type CopiedSchema,
  type DatabaseLocation,
  type DatabaseRestore,
  restoreDatabase,
  toDatabaseLocation,
} from '@warder/runtime/launch'
import type { RestoredBackup } from '@warder/storage'
import { configure } from '../installation/configuration.ts'
import { serviceModules } from '../installation/services.ts'
import { isOutside } from './backup-sources.ts'
import { BackupRefused } from './lines.ts'
import type { Move } from './restored-home.ts'
import { createEmptyFolder, removeFolder, setDatabase } from './staging.ts'

export interface DatabaseChoice {
  readonly env: Terminal['env']
  /** Databases that replace those in the settings of the backup. */
  readonly databases: Readonly<Partial<Record<ServiceName, string>>>
  /** The settings in the backup may name databases outside of the home. */
  readonly outsideHome: boolean
}

export interface RestoreTarget {
  /** Absolute. */
  readonly home: string
  /** Staging folder for its files. */
  readonly files: string
  /** Start of an interrupted restore into this home; databases that it finished are emptied. */
  readonly interruptedAt: number | undefined
}

/** The databases of a restore. A SQLite file stays in a staging folder until the restore is complete. */
export class RestoredDatabases {
  readonly #target: RestoreTarget
  readonly #choice: DatabaseChoice
  readonly #begun: DatabaseRestore[] = []
  /** Files outside the home. */
  readonly moves: Move[] = []
  readonly #locks: (() => void)[] = []

  /** @throws StartupError when the environment overrides a chosen database */
  constructor(target: RestoreTarget, choice: DatabaseChoice) {
    this.#target = target
    this.#choice = choice
    for (const [service, url] of Object.entries(choice.databases)) {
      const name = `${service.toUpperCase()}_DATABASE_URL`
      const other = choice.env[name]
      if (other !== undefined && other !== '' && other !== url)
        throw new StartupError(`${name} is set to another database than --${service}-database: unset it`)
    }
  }

  /** @throws StartupError when the database is not empty */
  async begin(service: ServiceName, schema: CopiedSchema): Promise<DatabaseRestore> {
    const { interruptedAt } = this.#target
    const place = this.#resolvePlace(service)
    const database = await restoreDatabase(serviceModules[service], place, { ...schema, interruptedAt })
    this.#begun.push(database)
    return database
  }

  #resolvePlace(service: ServiceName): DatabaseLocation {
    const { files, home } = this.#target
    const { env, databases } = this.#choice
    const given = databases[service]
    if (given !== undefined) setDatabase(files, service, given)
    const { launch, loaded } = configure(service, files, [], env)
    const place = toDatabaseLocation(launch.config, home, service)
    const isInHome = place.kind === 'sqlite' && !isOutside(home, place.path)
    if (!isInHome && loaded.provenance.database_url === 'file' && given === undefined)
      this.#requireFlag(service, place)
    if (place.kind !== 'sqlite') return place
    if (isInHome) return { ...place, path: join(files, relative(home, place.path)) }
    if (existsSync(place.path))
      throw new StartupError(
        `the database ${place.path} already exists, and a restore overwrites nothing: move it away`,
      )
    this.#locks.push(
      takeLock(
        `${place.path}.restore.lock`,
        (pid) => `another restore into ${place.path} is running (process ${pid})`,
      ),
    )
    const from = createEmptyFolder(`${place.path}.restoring`)
    this.moves.push({ from: join(from, 'database'), path: place.path })
    return { kind: 'sqlite', path: join(from, 'database') }
  }

  /** The backup determines the content, the caller the location. */
  #requireFlag(service: ServiceName, place: DatabaseLocation): void {
    if (this.#choice.outsideHome) return
    const where = place.kind === 'sqlite' ? place.path : 'a database server'
    throw new BackupRefused(
      `the settings in the backup put the database of ${service} outside the home (${where}): name it with --${service}-database, or permit that location with --outside-home`,
    )
  }

  /** Marks the databases as complete; services can use them once their files are moved. */
  async finish(origin: RestoredBackup): Promise<void> {
    for (const database of this.#begun) {
      await database.finish(origin)
      await database.close()
    }
  }

  async abandon(): Promise<void> {
    for (const database of this.#begun) await database.close().catch(() => undefined)
    for (const { from } of this.moves) removeFolder(dirname(from))
  }

  release(): void {
    for (const unlock of this.#locks) unlock()
  }
}
