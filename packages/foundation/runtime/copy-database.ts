import { StartupError } from '../errors/index.ts'
import {
  beginRestore,
  type CopiedRow,
  type CopiedTable,
  type DatabaseSnapshot,
  emptied,
  endOfRestore,
  fillSqlite,
  insertionOf,
  lockForRestore,
  migrate,
  openPostgresSnapshot,
  type RestoredBackup,
  raiseCommitCount,
  readCommitCount,
  restoredChanges,
  schemaOf,
  sqliteSnapshot,
} from '../sql/index.ts'
import type { Database } from '../sql/types.ts'
import { componentsOf } from './components.ts'
import { connect, type DatabasePlace } from './database.ts'
import type { ServiceLaunch } from './launch.ts'
import { loadDefinition } from './load-definition.ts'

/** The schema that the rows of a backup were made for. */
export interface CopiedSchema {
  /** Of each component, the newest migration that was carried out. */
  readonly migrations: Readonly<Record<string, number>>
  readonly commits: number
}

/** Everything that a database holds at one moment, and the shape that it has. */
export async function snapshotOf(
  place: DatabasePlace,
): Promise<{ readonly snapshot: DatabaseSnapshot; readonly schema: CopiedSchema }> {
  const snapshot = place.kind === 'sqlite' ? sqliteSnapshot(place.path) : await openPostgresSnapshot(place)
  const db = await connect(place, undefined)
  try {
    // Read after the snapshot: the copy may have fewer commits than it says, never more.
    const schema = { migrations: await schemaOf(db), commits: (await readCommitCount(db)) ?? 0 }
    return { snapshot, schema }
  } catch (error) {
    await snapshot.close()
    throw error
  } finally {
    await db.close()
  }
}

/** A database that is being filled. */
export interface DatabaseRestore {
  begin(table: CopiedTable): Promise<void>
  /** Of the table that was begun last. */
  add(rows: readonly CopiedRow[]): Promise<void>
  /** From now on a service can use it, whose first start is told where the rows come from. */
  finish(origin: RestoredBackup): Promise<void>
  close(): Promise<void>
}

/**
 * Fills an empty database. Until it is finished no service starts on it; what is interrupted is taken away by the next
 * restore into it.
 * @throws StartupError when it is not empty, or the rows were made by a newer version
 */
export async function restoreDatabase(
  launch: Pick<ServiceLaunch, 'module' | 'exportName'>,
  place: DatabasePlace,
  schema: CopiedSchema & {
    /** When a restore was begun that was interrupted: what it has finished is taken away, too. Unix milliseconds. */
    readonly interruptedAt?: number | undefined
  },
): Promise<DatabaseRestore> {
  const known = componentsOf(await loadDefinition(launch))
  for (const [component, number] of Object.entries(schema.migrations)) {
    const newest = known.get(component)?.length ?? 0
    if (number > newest)
      throw new StartupError(
        `the backup is newer than this program: ${component} has migration ${number}, this program knows ${newest}; restore it with the version of Warder that made it, or a newer one`,
      )
  }
  const unlock = place.kind === 'sqlite' ? undefined : await lockForRestore(place)
  const db = await connect(place, undefined).catch(async (error: unknown) => {
    await unlock?.()
    throw error
  })
  const close = async (): Promise<void> => {
    await db.close()
    await unlock?.()
  }
  try {
    await beginRestore(db, schema.interruptedAt)
    for (const [component, migrations] of known)
      await migrate(db, component, migrations.slice(0, schema.migrations[component] ?? 0))
  } catch (error) {
    await close()
    throw error
  }
  const end = async (database: Database, origin: RestoredBackup): Promise<void> => {
    const missing = schema.commits + 1 - ((await readCommitCount(database)) ?? 0)
    const counted = missing > 0 ? [raiseCommitCount(missing)] : []
    await database.commit([...counted, ...restoredChanges(origin), endOfRestore()])
  }
  if (place.kind === 'postgresql')
    return { ...filledByCommits(db), finish: (origin) => end(db, origin), close }
  await db.close()
  const filling = fillSqlite(place.path)
  return {
    begin: async (table) => filling.begin(table),
    add: async (rows) => filling.add(rows),
    async finish(origin) {
      filling.finish()
      const filled = await connect(place, undefined)
      try {
        await end(filled, origin)
      } finally {
        await filled.close()
      }
    },
    close: async () => filling.close(),
  }
}

function filledByCommits(db: Database): Pick<DatabaseRestore, 'begin' | 'add'> {
  let insert: ReturnType<typeof insertionOf> | undefined
  return {
    async begin(table) {
      await db.commit([emptied(table)])
      insert = insertionOf(table)
    },
    async add(rows) {
      await db.commit(insert?.(rows) ?? [])
    },
  }
}
