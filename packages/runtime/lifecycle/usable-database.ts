import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type KnownCommits, openLogKeys, readKnownCommits } from '@warder/audit'
import { StartupError } from '@warder/base'
import {
  createWrongRootKeyError,
  type Database,
  findSharedRootKey,
  isEmptyDatabase,
  isRestoreUnderWay,
  isUnsealed,
  type MigrationPlan,
  openSealToRead,
} from '@warder/storage'
import { type Components, listComponents, planMigrations, requireUsablePlans } from './components.ts'
import { connect, type DatabaseLocation } from './database.ts'
import type { ServiceLaunch } from './launch.ts'
import { requireWholeAudit } from './lost-audit.ts'
import { findMissingFile, findRollback, type Rollback, refuseRollback } from './rollback.ts'
import { openRootKeys, rootKeySource } from './root-keys.ts'
import { loadDefinition, type ServiceDefinition } from './service.ts'

interface UsableDatabase {
  readonly launch: Pick<ServiceLaunch, 'config' | 'home' | 'env' | 'acceptRollback' | 'collectShares'>
  readonly definition: ServiceDefinition<unknown, unknown>
  readonly location: DatabaseLocation
  readonly db: Database
  /** According to the audit log. */
  readonly known: KnownCommits
}

/** @throws StartupError for a database that was used and is not there */
export function requireDatabaseFile(options: Omit<UsableDatabase, 'db'>): void {
  requireAccepted(options, findMissingFile(options.location, options.known))
}

/**
 * Refuses a database that a start cannot use: an unfinished restore, a database older than its audit log, or
 * the schema of a newer program. Changes nothing. Every start and `warder check` call it.
 * @returns the remaining migrations, and the loss that the operator accepted
 * @throws StartupError
 */
export async function requireUsableDatabase(options: UsableDatabase): Promise<{
  readonly components: Components
  readonly plans: ReadonlyMap<string, MigrationPlan>
  readonly rollback: Rollback | undefined
}> {
  const { launch, definition, db } = options
  if (await isRestoreUnderWay(db))
    throw new StartupError(
      `${definition.name}: a restore into this database was interrupted: run warder restore again, which starts from the beginning`,
    )
  const isReadWithKeys = options.known.unread && !(await isEmptyDatabase(db)) && !isOnlyForHolders(launch)
  const known = isReadWithKeys
    ? await readKnownCommitsWithKeys(options, db, getAuditFolder(launch, definition))
    : options.known
  const rollback = await findRollback(db, known)
  requireAccepted(options, rollback)
  const components = listComponents(definition)
  const plans = await planMigrations(db, components)
  requireUsablePlans(components, plans)
  return { components, plans, rollback }
}

/** The database of a service as a start would find it. */
export interface InspectedDatabase {
  /** By component; undefined: there is no database yet, or it was not read. */
  readonly plans: ReadonlyMap<string, MigrationPlan> | undefined
  /** Why a start would be refused. */
  readonly refusal: string | undefined
}

/**
 * Makes the checks of a start on a database without changing anything. If the root key is in shares, their holders are
 * not asked for them, and sealed values are not checked.
 */
export async function inspectDatabase(
  given: ServiceLaunch,
  location: DatabaseLocation,
  now: number,
): Promise<InspectedDatabase> {
  let plans: InspectedDatabase['plans']
  const launch = { ...given, collectShares: undefined }
  try {
    const definition = await loadDefinition(launch)
    const folder = getAuditFolder(launch, definition)
    const known = await readKnownCommits(folder)
    const { config, env } = launch
    requireDatabaseFile({ launch, definition, location, known })
    // Opening would create it.
    const db = isAbsent(location) ? undefined : await connect(location, undefined)
    try {
      if (db !== undefined && !(await isEmptyDatabase(db))) {
        const usable = await requireUsableDatabase({ launch, definition, location, db, known })
        plans = usable.plans
        const isSealed = (plans.get('seal')?.done ?? 0) > 0
        const seal = isSealed ? await requireRootKey(launch, definition.name, db) : undefined
        await requireWholeAudit(launch, definition.name, folder, { db, location, seal })
        // Only tables of this version of the schema can be read.
        const isCurrent = [...plans.values()].every(({ pending }) => pending.length === 0)
        if (isCurrent && seal !== undefined)
          await definition.checkStored?.({ config, env, now, database: { db, seal } })
      } else {
        if (db !== undefined) await requireUsableDatabase({ launch, definition, location, db, known })
        await definition.checkStored?.({ config, env, now, database: undefined })
      }
    } finally {
      await db?.close()
    }
    return { plans, refusal: undefined }
  } catch (error) {
    if (error instanceof StartupError) return { plans, refusal: error.message }
    throw error
  }
}

function isAbsent(location: DatabaseLocation): boolean {
  return location.kind === 'sqlite' && !existsSync(location.path)
}

function getAuditFolder(
  { home }: Pick<ServiceLaunch, 'home'>,
  { name }: ServiceDefinition<unknown, unknown>,
): string {
  return join(home, 'audit', name)
}

function requireAccepted(
  { launch, definition, location }: Omit<UsableDatabase, 'db'>,
  rollback: Rollback | undefined,
): void {
  if (rollback !== undefined && !launch.acceptRollback)
    refuseRollback(definition.name, getAuditFolder(launch, definition), location, rollback)
}

/** The root key is in shares, and their holders are not asked. */
function isOnlyForHolders(launch: Pick<ServiceLaunch, 'config' | 'home' | 'collectShares'>): boolean {
  return launch.collectShares === undefined && rootKeySource(launch).kind === 'shares'
}

/**
 * @returns undefined: nothing was sealed yet, or only holders of shares can open it
 * @throws StartupError for a root key that does not open the database
 */
async function requireRootKey(launch: ServiceLaunch, service: string, db: Database) {
  if (await isUnsealed(db)) return undefined
  if (isOnlyForHolders(launch)) {
    await findSharedRootKey(db, service)
    return undefined
  }
  const rootKeys = await openRootKeys(launch, { service, db, attempts: 1 })
  const seal = await openSealToRead({ db, rootKeys, service })
  if (seal !== undefined) return seal
  throw await createWrongRootKeyError({ db, service, rootKeys })
}

/**
 * Reads an encrypted log with the keys that this database and the root key open. A log that they cannot open does not
 * belong to this database.
 * @throws StartupError
 */
async function readKnownCommitsWithKeys(
  { launch, definition }: Pick<UsableDatabase, 'launch' | 'definition'>,
  db: Database,
  folder: string,
): Promise<KnownCommits> {
  const { acceptRollback } = launch
  const rootKeys = await openRootKeys(launch, { service: definition.name, db })
  const seal = await openSealToRead({ db, rootKeys, service: definition.name })
  if (seal === undefined)
    throw new StartupError(
      `wrong root key: ${rootKeys.map(({ from }) => from).join(', ')} does not decrypt the database of ${definition.name}, whose audit log is encrypted; restore the right one (nothing was changed)`,
    )
  const known = await readKnownCommits(folder, await openLogKeys(folder, seal))
  if (known.unread && acceptRollback !== true)
    throw new StartupError(
      `${definition.name}: the audit log in ${folder} is encrypted with a key that this database does not contain, so the log belongs to another database. Restore that database, or move the log away, or start once with --accept-rollback, which sets the log aside and begins a new one`,
    )
  return known
}
