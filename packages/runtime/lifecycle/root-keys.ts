import { inHome, type Logger, type Metrics, StartupError, systemClock } from '@warder/base'
import {
  createWrongRootKeyError,
  type Database,
  describeMove,
  findSharedRootKey,
  isUnsealed,
  loadRootKeys,
  openProvidedRootKey,
  openSealToRead,
  type RootKey,
  type RootKeyProvider,
  type RootKeySource,
  type SharedRootKey,
  sharesSource,
  unwrapDatabaseKey,
} from '@warder/storage'
import type { RootKeyLaunch } from './launch.ts'

/** Location of the root key: in a source that stores it, in shares of people, or wrapped by a provider of this name. */
export type ConfiguredRootKeySource =
  | RootKeySource
  | { readonly kind: 'shares' }
  | { readonly kind: 'provider'; readonly name: string }

/** @param name default: the source of the settings */
export function rootKeySource(
  { config, home }: Pick<RootKeyLaunch, 'config' | 'home'>,
  name: string = config.root_key_source,
): ConfiguredRootKeySource {
  switch (name) {
    case 'file':
      return { kind: 'file', path: inHome(home, config.root_key_file) }
    case 'environment':
      return { kind: 'environment', variable: 'WARDER_ROOT_KEY' }
    case 'passphrase':
      return { kind: 'passphrase', variable: 'WARDER_ROOT_KEY_PASSPHRASE' }
    case 'systemd':
      return { kind: 'systemd', credential: config.root_key_credential }
    case sharesSource:
      return { kind: 'shares' }
    default:
      return { kind: 'provider', name }
  }
}

/** Reads the settings and files of a provider; contacts nothing. @throws StartupError */
export async function createProvider(name: string, launch: RootKeyLaunch): Promise<RootKeyProvider> {
  if (launch.rootKeyProvider === undefined)
    throw new StartupError(`root_key_source ${name} is not supported here`)
  return launch.rootKeyProvider(name, launch)
}

/** Checks a source without contacting it or creating anything. @throws StartupError for one that cannot be used */
export async function requireRootKeySource(launch: RootKeyLaunch): Promise<void> {
  const source = rootKeySource(launch)
  if (source.kind === 'provider') await createProvider(source.name, launch)
  else if (source.kind !== 'shares') loadRootKeys(source, launch.env, { create: false })
}

interface OpenRootKeys {
  readonly service: string
  readonly db: Database
  /** On the first run only: a lost root key must be reported, not replaced by one that opens nothing. */
  readonly create?: boolean
  /** Default: that of the settings. */
  readonly from?: string | undefined
  /** Attempts to reach a provider; default 5. */
  readonly attempts?: number
  readonly log?: Logger
}

/**
 * The root keys to try for a database, the right one first. While a rotation of the key file is unfinished there are two.
 * @throws StartupError that names the source, and the one to which the database was moved
 */
export async function openRootKeys(
  launch: RootKeyLaunch,
  { service, db, create = false, from, attempts = 5, log }: OpenRootKeys,
): Promise<readonly RootKey[]> {
  const source = rootKeySource(launch, from)
  if (source.kind === 'shares') return [await collectRootKey(launch, service, db)]
  if (source.kind === 'provider') {
    const provider = await createProvider(source.name, launch)
    return openProvidedRootKey({
      ...{ service, db, provider, create, clock: systemClock },
      retries: {
        attempts,
        onRetry: (detail, waitMs) =>
          log?.warn(
            { source: provider.description, detail, wait_ms: waitMs },
            'the source of the root key cannot be used; the start waits for it',
          ),
      },
    })
  }
  try {
    return loadRootKeys(source, launch.env, { create: create && (await isUnsealed(db)) })
  } catch (error) {
    const moved = error instanceof StartupError ? await describeMove(db, service) : undefined
    throw moved === undefined ? error : new StartupError(moved, { cause: error })
  }
}

/** @throws StartupError for a database without shares, and where no holder can be asked for them */
async function collectRootKey(
  { collectShares }: RootKeyLaunch,
  service: string,
  db: Database,
): Promise<RootKey> {
  const find = async (): Promise<SharedRootKey> => {
    const shared = await findSharedRootKey(db, service)
    if (shared !== undefined) return shared
    throw new StartupError(
      `root_key_source is shares, but the ${service} database is new, and there are no shares of it: start with root_key_source = "file", then run warder root-key move --to shares`,
    )
  }
  if (collectShares !== undefined) return collectShares(find, service)
  const { set } = await find()
  throw new StartupError(
    `the root key of the ${service} database is in shares, of which ${set.threshold} are needed: run the command on a terminal`,
  )
}

/** The source of the settings, for the log and operators; never a secret. @throws StartupError */
export async function describeRootKeySource(launch: RootKeyLaunch): Promise<string> {
  const source = rootKeySource(launch)
  switch (source.kind) {
    case 'provider':
      return (await createProvider(source.name, launch)).description
    case 'file':
      return source.path
    case 'systemd':
      return `credential ${source.credential}`
    case 'shares':
      return 'shares of several people'
    default:
      return source.variable
  }
}

/** @returns why a start could not open a sealed database now; undefined: it could @throws StorageUnavailable */
export async function findRootKeyProblem(
  launch: RootKeyLaunch,
  { service, db, from }: Pick<OpenRootKeys, 'service' | 'db' | 'from'>,
): Promise<string | undefined> {
  try {
    if (rootKeySource(launch, from).kind === 'shares') {
      // Only the holders know whether enough of them still have their shares.
      await findSharedRootKey(db, service)
      return undefined
    }
    const rootKeys = await openRootKeys(launch, { service, db, from, attempts: 2 })
    if ((await openSealToRead({ db, service, rootKeys })) !== undefined) return undefined
    return (await createWrongRootKeyError({ db, service, rootKeys })).message
  } catch (error) {
    if (error instanceof StartupError) return error.message
    throw error
  }
}

/** A system of a source that has several, each of which can open the database. */
export interface RootKeyMember {
  readonly description: string
  /** The reason for which a start with this system alone would fail. */
  readonly problem: string | undefined
}

/** @returns none for a source of one system @throws StartupError for settings that cannot be used */
export async function checkRootKeyMembers(
  launch: RootKeyLaunch,
  { service, db, from }: Pick<OpenRootKeys, 'service' | 'db' | 'from'>,
): Promise<readonly RootKeyMember[]> {
  const source = rootKeySource(launch, from)
  if (source.kind !== 'provider') return []
  const { members = [] } = await createProvider(source.name, launch)
  return Promise.all(
    members.map(async (provider) => {
      const { description } = provider
      try {
        const key = await unwrapDatabaseKey({ db, service, provider, retries: { attempts: 1 } })
        return { description, problem: key === undefined ? 'nothing is sealed yet' : undefined }
      } catch (error) {
        if (!(error instanceof StartupError)) throw error
        return { description, problem: error.message }
      }
    }),
  )
}

const checkEveryMs = 600_000

interface RootKeyWatch {
  readonly launch: RootKeyLaunch
  readonly service: string
  readonly db: Database
  readonly log: Logger
  readonly metrics: Metrics
  /**
   * The first element is 1 if the source is usable; the second has a bit for each member that is not. Shared with the
   * workers.
   */
  readonly state: Int32Array
  /** Default: ten minutes. */
  readonly everyMs?: number
}

/** Memory of `RootKeyWatch.state`, for a source that was just used. */
export function createRootKeyState(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(8)
  Atomics.store(new Int32Array(memory), 0, 1)
  return memory
}

/**
 * Checks while the service runs whether a restart could still open the database: a lost file, a deleted key or an expired
 * credential is reported while the root key is in memory. A passphrase cannot change, and is not derived again.
 * @returns a function that stops the watch
 */
export function watchRootKey({ everyMs = checkEveryMs, ...watch }: RootKeyWatch): () => void {
  const { launch, service, db, log, metrics, state } = watch
  const source = launch.config.root_key_source
  metrics.collected('root_key_usable', {
    type: 'gauge',
    help: '1 = a restart could open the database with the root key of this source.',
    label: 'source',
    read: async () => ({ [source]: Atomics.load(state, 0) }),
  })
  metrics.collected('root_key_members_unusable', {
    type: 'gauge',
    help: 'Tokens of this source that cannot open the database, although another token can.',
    label: 'source',
    read: async () => ({ [source]: Atomics.load(state, 1).toString(2).replaceAll('0', '').length }),
  })
  if (source === 'passphrase') return () => undefined
  const check = async (): Promise<void> => {
    const problem = await findRootKeyProblem(launch, { service, db })
    const was = Atomics.exchange(state, 0, problem === undefined ? 1 : 0)
    if (problem !== undefined)
      log.warn(
        { source, detail: problem },
        'the root key cannot be opened any more: the service continues, but do not restart it before this is repaired',
      )
    else if (was === 0) log.info({ source }, 'the root key can be opened again')
    await checkMembers(watch)
  }
  let underWay = false
  const run = (work: () => Promise<void>): void => {
    if (underWay) return
    underWay = true
    // An unavailable database is reported elsewhere.
    work()
      .catch((error: unknown) => log.debug({ error }, 'the root key could not be checked'))
      .finally(() => {
        underWay = false
      })
  }
  // The start used one member, and may not have used the others.
  run(() => checkMembers(watch))
  const timer = setInterval(() => run(check), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

async function checkMembers({
  launch,
  service,
  db,
  log,
  state,
}: Omit<RootKeyWatch, 'everyMs'>): Promise<void> {
  const members = await checkRootKeyMembers(launch, { service, db })
  const bits = members.reduce((all, { problem }, index) => all | (problem === undefined ? 0 : 1 << index), 0)
  const was = Atomics.exchange(state, 1, bits)
  for (const { description, problem } of members)
    if (problem !== undefined)
      log.warn({ source: description, detail: problem }, 'one of the tokens cannot open the root key')
  if (was !== 0 && bits === 0) log.info({}, 'each of the tokens can open the root key again')
}
