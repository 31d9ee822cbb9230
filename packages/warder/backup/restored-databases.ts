import { existsSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'
import {
  type CopiedSchema,
  type DatabasePlace,
  type DatabaseRestore,
  databasePlace,
  restoreDatabase,
} from '@warder/foundation/runtime'
import type { RestoredBackup } from '@warder/foundation/sql'
import type { Terminal } from '../cli/command.ts'
import { configure } from '../installation/configuration.ts'
import { type ServiceName, serviceModules } from '../installation/services.ts'
import { freshFolder, intoPlace, removeFolder, setDatabase } from './staging.ts'

export interface DatabaseChoice {
  readonly env: Terminal['env']
  /** Databases that take the place of those of the backup's settings. */
  readonly databases: Readonly<Partial<Record<ServiceName, string>>>
}

/** The databases of a restore. A file of SQLite lies in a folder of its own until everything has come. */
export class RestoredDatabases {
  readonly #home: string
  readonly #choice: DatabaseChoice
  readonly #begun: DatabaseRestore[] = []
  /** Files that lie elsewhere than in the home. */
  readonly #moves: { readonly from: string; readonly path: string }[] = []

  /** @param home that is being filled */
  constructor(home: string, choice: DatabaseChoice) {
    this.#home = home
    this.#choice = choice
  }

  /** @throws StartupError when there is something in its place */
  async begin(service: ServiceName, schema: CopiedSchema): Promise<DatabaseRestore> {
    const database = await restoreDatabase(serviceModules[service], this.#placeOf(service), schema)
    this.#begun.push(database)
    return database
  }

  #placeOf(service: ServiceName): DatabasePlace {
    const { env, databases } = this.#choice
    const given = databases[service]
    if (given !== undefined) setDatabase(this.#home, service, given)
    const { config } = configure(service, this.#home, [], env).launch
    const place = databasePlace(config, this.#home, service)
    if (place.kind !== 'sqlite' || place.path.startsWith(`${this.#home}/`)) return place
    if (existsSync(place.path))
      throw new StartupError(`the database ${place.path} is there: a restore replaces nothing; move it away`)
    const from = freshFolder(`${place.path}.restoring`)
    this.#moves.push({ from, path: place.path })
    return { kind: 'sqlite', path: `${from}/database` }
  }

  /** From now on services can use them. */
  async finish(origin: RestoredBackup): Promise<void> {
    for (const database of this.#begun) {
      await database.finish(origin)
      await database.close()
    }
    for (const { from, path } of this.#moves) intoPlace(`${from}/database`, path, from)
  }

  async abandon(): Promise<void> {
    for (const database of this.#begun) await database.close().catch(() => undefined)
    for (const { from } of this.#moves) removeFolder(from)
  }
}
