import { StartupError } from '@warder/base'
import {
  advanceIdentities,
  beginRestore,
  type CopiedRow,
  type CopiedTable,
  createInsertion,
  type Database,
  type DatabaseSnapshot,
  deleteAllRows,
  dropRestoreMarker,
  fillSqlite,
  insertRestored,
  lockForRestore,
  migrate,
  openPostgresSnapshot,
  openSqliteSnapshot,
  type RestoredBackup,
  raiseCommitCount,
  readCommitCount,
  readSchema,
  switchTriggers,
} from '@warder/storage'
import { listComponents } from './components.ts'
import { connect, type DatabaseLocation } from './database.ts'
import type { ServiceLaunch } from './launch.ts'
import { loadDefinition } from './service.ts'

/** The schema that the rows of a backup were made for. */
export interface CopiedSchema {
  /** The newest applied migration of each component. */
  readonly migrations: Readonly<Record<string, number>>
  readonly commits: number
}

/** Opens a consistent snapshot of a database, with the version of its schema. */
export async function openSnapshot(
  location: DatabaseLocation,
): Promise<{ readonly snapshot: DatabaseSnapshot; readonly schema: CopiedSchema }> {
  const snapshot =
    location.kind === 'sqlite' ? openSqliteSnapshot(location.path) : await openPostgresSnapshot(location)
  const db = await connect(location, undefined)
  try {
    // Read after the snapshot: the copy may have fewer commits than this number, never more.
    const schema = { migrations: await readSchema(db), commits: (await readCommitCount(db)) ?? 0 }
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
  /** Makes the database usable; the first start of its service reads the origin of the rows. */
  finish(origin: RestoredBackup): Promise<void>
  close(): Promise<void>
}

/**
 * Fills an empty database. No service starts on it until it is finished; the next restore removes the rows of an
 * interrupted one.
 * @throws StartupError when it is not empty, or the rows were made by a newer version
 */
export async function restoreDatabase(
  launch: Pick<ServiceLaunch, 'module' | 'exportName'>,
  location: DatabaseLocation,
  schema: CopiedSchema & {
    /** When an interrupted restore began: databases that it finished are replaced, too. Unix milliseconds. */
    readonly interruptedAt?: number | undefined
  },
): Promise<DatabaseRestore> {
  const known = listComponents(await loadDefinition(launch))
  for (const [component, number] of Object.entries(schema.migrations)) {
    const newest = known.get(component)?.length ?? 0
    if (number > newest)
      throw new StartupError(
        `the backup is newer than this program: ${component} has migration ${number}, but this program knows ${newest}; restore it with the version of Warder that created it, or a newer one`,
      )
  }
  const unlock = location.kind === 'sqlite' ? undefined : await lockForRestore(location)
  const db = await connect(location, undefined).catch(async (error: unknown) => {
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
    await database.commit([...counted, ...insertRestored(origin), dropRestoreMarker()])
  }
  if (location.kind === 'postgresql') {
    const { finish, ...filling } = createCommitFilling(db)
    return {
      ...filling,
      async finish(origin) {
        await finish()
        await end(db, origin)
      },
      close,
    }
  }
  await db.close()
  const filling = fillSqlite(location.path)
  return {
    begin: async (table) => filling.begin(table),
    add: async (rows) => filling.add(rows),
    async finish(origin) {
      filling.finish()
      const filled = await connect(location, undefined)
      try {
        await end(filled, origin)
      } finally {
        await filled.close()
      }
    },
    close: async () => filling.close(),
  }
}

function createCommitFilling(
  db: Database,
): Pick<DatabaseRestore, 'begin' | 'add'> & { finish(): Promise<void> } {
  let insert: ReturnType<typeof createInsertion> | undefined
  const filled: CopiedTable[] = []
  return {
    async begin(table) {
      await db.commit([switchTriggers(table, 'DISABLE'), deleteAllRows(table)])
      filled.push(table)
      insert = createInsertion(table)
    },
    async finish() {
      const enabled = filled.map((table) => switchTriggers(table, 'ENABLE'))
      await db.commit([...enabled, ...(await advanceIdentities(db))])
    },
    async add(rows) {
      await db.commit(insert?.(rows) ?? [])
    },
  }
}
