import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { StartupError, takeLock } from '@warder/base'
import { GuardFailed } from '../sql/errors.ts'
import type { Change, Database } from '../sql/types.ts'
import { toDataKeyContext } from './data-keys.ts'
import { encodeContext, openWith } from './envelope.ts'
import { renewRecovery } from './recovery.ts'
import { loadRootKeys, nextPath, promoteNext, type RootKey, readRootKey, writeRootKey } from './root-key.ts'
import {
  createSharedRootKey,
  createWrappedRootKey,
  findSharedRootKey,
  type NewRootKeySource,
  type ProviderRetries,
  type RootKeyProvider,
  sharesSource,
  unwrapDatabaseKey,
} from './root-key-sources.ts'
import { createWrongRootKeyError, findMatchingRootKey, wrapUnder } from './seal.ts'
import {
  addRootKeySource,
  deleteRootKeySources,
  listRootKeySources,
  readDataKeys,
  replaceRootKey,
  rewrapDataKey,
} from './seal-store.ts'
import type { ShareSet } from './share-set.ts'

export interface SealedDatabase {
  readonly service: string
  readonly db: Database
}

export interface RotateOptions<Target extends SealedDatabase = SealedDatabase> {
  readonly databases: readonly Target[]
  /** Called after each step with its name; a test stops there. */
  readonly onStep?: (step: string) => Promise<void>
}

/** A move of the root key to another source. */
export interface MoveOptions<Target extends SealedDatabase = SealedDatabase> extends RotateOptions<Target> {
  /** The root keys of a database in its present source. @throws StartupError */
  readonly readOld: (database: Target) => Promise<readonly RootKey[]>
  readonly now: number
  readonly retries?: ProviderRetries
  /** Joins the commit of a database, e.g. a record for the audit log. */
  readonly stage?: (database: Target) => Promise<readonly Change[]>
}

/**
 * Changes the root key of a file without touching a row of data: writes `root.key.next`, wraps each database's data
 * keys under it (one commit a database), then renames it to the old one's name. Stopped at any moment, every database
 * opens with one of the two files, and running it again finishes the work.
 * @throws StartupError when the file is not there, or others can read it; nothing is written then
 */
export async function rotateRootKeyFile(path: string, options: RotateOptions): Promise<void> {
  await withLock(path, async () => {
    // First, so that a rotation without it leaves no new key that a later rotation would use as its own.
    const old = [requireRootKeyFile(path)]
    const databases = options.databases.map((database) => ({ database, old, source: undefined }))
    await replaceFile(path, databases, options.onStep)
  })
}

/**
 * Moves the root key of the databases into a new file, as a rotation of the file does: a file of this name from before
 * is replaced.
 * @throws StartupError; when a present source cannot be used, nothing is written
 */
export async function moveToFile<Target extends SealedDatabase>(
  path: string,
  options: MoveOptions<Target>,
): Promise<void> {
  const source = { source: 'file', description: path, wrapped: null, created_at: options.now }
  await withLock(path, async () => {
    const databases = []
    for (const database of options.databases) {
      const isThere = (await listRootKeySources(database.db)).some((row) => row.source === 'file')
      const old = await options.readOld(database)
      await requireMatching(database, old)
      const staged = await options.stage?.(database)
      databases.push({ database, old, source: isThere ? undefined : source, staged })
    }
    await replaceFile(path, databases, options.onStep)
  })
}

interface Rewrapping {
  readonly database: SealedDatabase
  readonly old: readonly RootKey[]
  /** undefined: stays. */
  readonly source: NewRootKeySource | undefined
  readonly staged?: readonly Change[] | undefined
}

async function replaceFile(
  path: string,
  databases: readonly Rewrapping[],
  step: RotateOptions['onStep'] = async () => undefined,
): Promise<void> {
  const next = nextPath(path)
  if (!existsSync(next)) {
    writeRootKey(next, randomBytes(32))
    await step('next written')
  }
  const fresh: RootKey = { kind: 'key', from: next, key: readRootKey(next) }
  for (const { database, old, source, staged } of databases) {
    await rewrap(database, old, { root: fresh, source, staged })
    await step(`${database.service} wrapped`)
  }
  promoteNext(path)
  await step('promoted')
}

async function withLock(path: string, work: () => Promise<void>): Promise<void> {
  const unlock = takeLock(
    `${path}.lock`,
    (pid) => `the root key is being rotated by process ${pid}: wait for it`,
  )
  try {
    await work()
  } finally {
    unlock()
  }
}

/** The key of a file that must be there. @throws StartupError, worded as for a start */
export function requireRootKeyFile(path: string): RootKey {
  const [key] = loadRootKeys({ kind: 'file', path }, {}, { create: false })
  if (key === undefined) throw new StartupError('there is no root key')
  return key
}

/**
 * For root keys that are not files: the old and the new one are given. When started again, it completes an
 * interrupted rotation.
 */
export async function rotateRootKey(old: RootKey, fresh: RootKey, options: RotateOptions): Promise<void> {
  for (const database of options.databases) {
    await rewrap(database, [old], { root: fresh, source: undefined })
    await options.onStep?.(`${database.service} wrapped`)
  }
}

/** Moves the root key of the databases to a source that holds the new one already. It may run again. */
export async function moveToKey<Target extends SealedDatabase>(
  fresh: RootKey,
  source: string,
  options: MoveOptions<Target>,
): Promise<void> {
  const row = { source, description: fresh.from, wrapped: null, created_at: options.now }
  for (const database of options.databases) {
    if (!(await matches(database, [fresh])))
      await rewrap(database, await options.readOld(database), {
        ...{ root: fresh, source: row },
        staged: await options.stage?.(database),
      })
    await options.onStep?.(`${database.service} wrapped`)
  }
}

/**
 * Gives each database a new random root key that a provider wraps. Each database is moved in one commit, and opens with
 * its old source before and with the new one afterwards.
 * @param options `again` also changes root keys that this provider wraps already: a rotation
 */
export async function moveToProvider<Target extends SealedDatabase>(
  provider: RootKeyProvider,
  options: MoveOptions<Target> & { readonly again: boolean },
): Promise<void> {
  for (const database of options.databases) {
    const { db, service } = database
    const old = await options.readOld(database)
    await requireMatching(database, old)
    if (options.again || !(await isWrappedBy(provider, database, options.retries))) {
      const fresh = await createWrappedRootKey(provider, service, options.now, options.retries)
      await options.onStep?.(`${service} new key`)
      await rewrap({ db, service }, old, { ...fresh, staged: await options.stage?.(database) })
    }
    await options.onStep?.(`${service} wrapped`)
  }
}

/**
 * Creates a new random root key for each database, which the shares of a set open. A database that they open already is
 * not changed, so an interrupted move to the same set is continued without shares.
 */
export async function moveToShares<Target extends SealedDatabase>(
  set: ShareSet,
  options: MoveOptions<Target>,
): Promise<void> {
  for (const database of options.databases) {
    const { db, service } = database
    if (!(await isOpenedBy(set, database))) {
      const old = await options.readOld(database)
      await requireMatching(database, old)
      const fresh = createSharedRootKey(set, service, options.now)
      await rewrap({ db, service }, old, { ...fresh, staged: await options.stage?.(database) })
    }
    await options.onStep?.(`${service} wrapped`)
  }
}

async function isOpenedBy({ id }: ShareSet, { db, service }: SealedDatabase): Promise<boolean> {
  const rows = await listRootKeySources(db)
  if (!rows.some(({ source }) => source === sharesSource)) return false
  return (await findSharedRootKey(db, service))?.set.id === id
}

async function isWrappedBy(
  provider: RootKeyProvider,
  { db, service }: SealedDatabase,
  retries: ProviderRetries | undefined,
): Promise<boolean> {
  const { source, description } = provider
  const rows = await listRootKeySources(db)
  if (!rows.some((row) => row.source === source && row.description === description)) return false
  return (await unwrapDatabaseKey({ db, service, provider, ...(retries && { retries }) })) !== undefined
}

async function matches({ db, service }: SealedDatabase, rootKeys: readonly RootKey[]): Promise<boolean> {
  return (await findMatchingRootKey({ db, service, rootKeys })) !== undefined
}

async function requireMatching(database: SealedDatabase, rootKeys: readonly RootKey[]): Promise<void> {
  if (!(await matches(database, rootKeys))) throw await createWrongRootKeyError({ ...database, rootKeys })
}

interface NewRootKey {
  readonly staged?: readonly Change[] | undefined
  readonly root: RootKey
  /** Default: a random one. */
  readonly salt?: Uint8Array
  readonly source: NewRootKeySource | undefined
}

async function rewrap(
  { db, service }: SealedDatabase,
  old: readonly RootKey[],
  { root: fresh, salt = randomBytes(16), source, staged = [] }: NewRootKey,
): Promise<void> {
  const matching = await findMatchingRootKey({ db, service, rootKeys: [fresh, ...old] })
  if (matching === 'empty') return
  if (matching === undefined) {
    const from = old.map((key) => key.from).join(', ')
    throw new StartupError(
      `wrong root key: ${from} is not the one that the ${service} database was sealed with`,
    )
  }
  if (matching.root === fresh) return
  const { key, checkValue, wrap } = await wrapUnder(fresh, salt, service)
  const changes = [replaceRootKey(salt, checkValue, matching.version), ...staged]
  try {
    changes.push(...(await renewRecovery(db, service, matching.key, { root: fresh, key, salt })))
    for (const row of await db.all(readDataKeys, [])) {
      const dataKey = openWith(matching.key, encodeContext(service, toDataKeyContext(row.id)), row.wrapped)
      changes.push(rewrapDataKey(row.id, wrap(row.id, dataKey), row.version))
      dataKey.fill(0)
    }
  } catch (error) {
    // Another process may have replaced the root key between these reads: its data keys do not open with this one.
    const now = await findMatchingRootKey({ db, service, rootKeys: [matching.root] })
    if (now !== undefined && now !== 'empty' && now.version === matching.version) throw error
    throw createChangedError(service, error)
  }
  if (source !== undefined) changes.push(deleteRootKeySources(), addRootKeySource(source))
  try {
    await db.commit(changes)
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    throw createChangedError(service, error)
  }
}

function createChangedError(service: string, cause: unknown): StartupError {
  return new StartupError(
    `the root key or a data key of the ${service} database changed meanwhile: run the command again (nothing was changed there)`,
    { cause },
  )
}
