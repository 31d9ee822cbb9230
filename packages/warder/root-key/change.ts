import { existsSync } from 'node:fs'
import { StartupError, systemClock } from '@warder/base'
import { type HomeContext, type Terminal, UsageError } from '@warder/command-line'
import { type ServiceName, serviceNames } from '@warder/command-line/endpoints'
import type { RootKeySourceName } from '@warder/root-key-providers/settings'
import {
  type ConfiguredRootKeySource,
  createProvider,
  openRootKeys,
  openSealedDatabase,
  requireRootKeySource,
  rootKeySource,
  type ServiceLaunch,
  toDatabaseLocation,
} from '@warder/runtime/launch'
import {
  type Change,
  findSharedRootKey,
  isUnsealed,
  listRootKeySources,
  loadRootKeys,
  moveToFile,
  moveToKey,
  moveToProvider,
  moveToShares,
  openSeal,
  type RootKey,
  type RootKeyProvider,
  type RootKeySource,
  requireRootKeyFile,
  rotateRootKey,
  rotateRootKeyFile,
  type ShareSet,
  sharesSource,
} from '@warder/storage'
import { configure } from '../installation/configuration.ts'
import { forgetPendingShares, pendingSharesPath, prepareShares, type RequestedShares } from './new-shares.ts'

/** The database of a service, with the settings of the service. */
export interface ServiceDatabase extends Awaited<ReturnType<typeof openSealedDatabase>> {
  readonly service: ServiceName
  readonly launch: ServiceLaunch
}

export function requireHome(home: string): void {
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
}

export function configureService(service: ServiceName, home: string, { env }: Terminal): ServiceLaunch {
  return configure(service, home, [], env).launch
}

export async function withDatabases(
  { home, terminal }: HomeContext,
  work: (databases: readonly ServiceDatabase[], terminal: Terminal) => Promise<number>,
): Promise<number> {
  requireHome(home)
  const launches = serviceNames.map((service) => ({
    service,
    launch: configureService(service, home, terminal),
  }))
  // Opening would create a missing database.
  for (const { service, launch } of launches) requireDatabase(service, launch)
  const databases: ServiceDatabase[] = []
  try {
    for (const { service, launch } of launches)
      databases.push({ ...(await openSealedDatabase(service, launch)), service, launch })
    return await work(databases, terminal)
  } finally {
    for (const { close } of databases) await close()
  }
}

function requireDatabase(service: ServiceName, { config, home }: ServiceLaunch): void {
  const place = toDatabaseLocation(config, home, service)
  if (place.kind === 'sqlite' && !existsSync(place.path))
    throw new StartupError(`the database ${place.path} does not exist: start the services first`)
}

/** The source in which the root key of a database is; that of the settings where the database names none. */
export async function findPresentSource({ db, launch }: ServiceDatabase): Promise<string> {
  const [row] = await listRootKeySources(db)
  return row?.source ?? launch.config.root_key_source
}

export async function readPresentKeys(database: ServiceDatabase): Promise<readonly RootKey[]> {
  const { db, service, launch } = database
  return openRootKeys(launch, { db, service, from: await findPresentSource(database), attempts: 2 })
}

/** A source with which both services work. */
interface SharedSource {
  readonly source: ConfiguredRootKeySource
  /** Of a source that wraps the root key. */
  readonly provider: RootKeyProvider | undefined
}

/** @param kind default: that of the settings @throws StartupError */
async function requireSharedSource(
  launches: readonly ServiceLaunch[],
  kind?: RootKeySourceName,
): Promise<SharedSource> {
  const [first, ...others] = await Promise.all(
    launches.map(async (launch) => {
      const source = rootKeySource(launch, kind)
      return {
        source,
        provider: source.kind === 'provider' ? await createProvider(source.name, launch) : undefined,
      }
    }),
  )
  if (first === undefined) throw new StartupError('there is no service')
  const toText = ({ source, provider }: SharedSource): string =>
    JSON.stringify([source, provider?.description])
  if (others.some((other) => toText(other) !== toText(first)))
    throw new StartupError('auth and kms have different root keys: rotate each with a separate home')
  return first
}

/** Reads the root key that is to be replaced. */
export interface PresentKeys {
  read(database: ServiceDatabase): Promise<readonly RootKey[]>
  /** See `MoveOptions`. */
  readonly stage?: (database: ServiceDatabase) => Promise<readonly Change[]>
  /** The new source may be of the same kind as the present one, which does not work any more. */
  readonly isLost: boolean
}

const fromSource: PresentKeys = { read: readPresentKeys, isLost: false }

/**
 * Moves the root key of both databases.
 * @throws StartupError for a source that cannot be used, and for the one in which it is already
 */
export async function move(
  databases: readonly ServiceDatabase[],
  kind: RootKeySourceName,
  { out }: Terminal,
  {
    shares,
    keys = fromSource,
  }: { readonly shares?: RequestedShares | undefined; readonly keys?: PresentKeys } = {},
): Promise<number> {
  const [first] = databases
  if (first === undefined) return 1
  if (kind === sharesSource) return moveIntoShares(databases, shares, out, keys)
  const { source, provider } = await requireSharedSource(
    databases.map(({ launch }) => launch),
    kind,
  )
  const present = await Promise.all(databases.map(findPresentSource))
  const isUnfinished = source.kind === 'file' && existsSync(`${source.path}.next`)
  if (provider === undefined && !isUnfinished && !keys.isLost && present.every((found) => found === kind))
    throw new StartupError(`the root key is in ${kind} already: warder root-key rotate changes it`)
  const options = {
    databases,
    readOld: keys.read,
    ...(keys.stage !== undefined && { stage: keys.stage }),
    now: systemClock.now(),
    onStep: async (step: string) => out(`  ${step}`),
  }
  const fresh =
    provider === undefined && source.kind !== 'file' ? requireKey(source, first.launch) : undefined
  const approved = await requireApproval(databases, keys.read)
  if (provider !== undefined) await moveToProvider(provider, { ...options, again: keys.isLost })
  else if (source.kind === 'file') await moveToFile(source.path, options)
  else if (fresh !== undefined) await moveToKey(fresh, kind, options)
  await approved()
  out(
    `both databases use a root key in ${kind} now: set root_key_source = "${kind}" in auth.toml and kms.toml, and restart`,
  )
  out(
    'the services; until then a restart is refused. Keep the old root key for as long as the backups that need it.',
  )
  if (source.kind === 'file') out(`${source.path} is a new key: store a copy of it elsewhere`)
  return 0
}

/** This is the first move into shares; `rotate` replaces existing shares. */
async function moveIntoShares(
  databases: readonly ServiceDatabase[],
  shares: RequestedShares | undefined,
  out: Terminal['out'],
  keys: PresentKeys,
): Promise<number> {
  const home = databases[0]?.launch.home ?? '.'
  const present = await Promise.all(databases.map(findPresentSource))
  if (
    !keys.isLost &&
    present.every((found) => found === sharesSource) &&
    !existsSync(pendingSharesPath(home))
  )
    throw new StartupError('the root key is in shares already: warder root-key rotate makes new ones')
  await replaceShares(databases, home, requireShares(shares), out, keys)
  out(
    'both databases use a root key in shares now: set root_key_source = "shares" in auth.toml and kms.toml, give each holder',
  )
  out(
    'the file with their name, and restart the services, which start sealed: warder unseal. Until then a restart is refused.',
  )
  out(
    'Let every holder decrypt the share once before that. Keep the old root key for as long as the backups that need it.',
  )
  return 0
}

export function requireShares(shares: RequestedShares | undefined): RequestedShares {
  if (shares !== undefined) return shares
  throw new UsageError('shares need --holders FILE and --threshold M')
}

/** Creates new root keys for both databases, and one new set whose shares open them. */
async function replaceShares(
  databases: readonly ServiceDatabase[],
  home: string,
  shares: RequestedShares,
  out: Terminal['out'],
  keys = fromSource,
): Promise<void> {
  const isContinued = existsSync(pendingSharesPath(home))
  // Checked before shares are created, since an approval or a root key may be missing.
  const approved = isContinued ? undefined : await requireApproval(databases, keys.read)
  const set = await prepareShares(home, shares, out)
  const onStep = async (step: string): Promise<void> => out(`  ${step}`)
  await onStep('shares written')
  // The votes for an interrupted command count once, unless it had reached the kms.
  const consume = approved ?? (await requireApprovalUnlessMoved(databases, set, keys))
  await moveToShares(set, {
    ...{ databases, readOld: keys.read, now: systemClock.now(), onStep },
    ...(keys.stage !== undefined && { stage: keys.stage }),
  })
  await consume()
  forgetPendingShares(home)
  await onStep('finished')
}

async function requireApprovalUnlessMoved(
  databases: readonly ServiceDatabase[],
  set: ShareSet,
  keys: PresentKeys,
): Promise<() => Promise<void>> {
  for (const database of databases) {
    const isShared = (await findPresentSource(database)) === sharesSource
    const shared = isShared ? await findSharedRootKey(database.db, database.service) : undefined
    if (database.service === 'kms' && shared?.set.id === set.id) return async () => undefined
  }
  return requireApproval(databases, keys.read)
}

function requireKey(source: ConfiguredRootKeySource, { env }: Pick<ServiceLaunch, 'env'>): RootKey {
  const [key] =
    source.kind === 'provider' || source.kind === 'shares' ? [] : loadRootKeys(source, env, { create: false })
  if (key === undefined) throw new StartupError('there is no root key')
  return key
}

/** Gives both databases a new root key in the source that they have. */
export async function rotate({ home, terminal }: HomeContext, shares?: RequestedShares): Promise<number> {
  requireHome(home)
  const launches = serviceNames.map((name) => configureService(name, home, terminal))
  const { source, provider } = await requireSharedSource(launches)
  if (source.kind === 'shares')
    return withDatabases({ home, terminal }, (databases) =>
      rotateShares(databases, requireShares(shares), terminal),
    )
  if (shares !== undefined)
    throw new UsageError(`--holders and --threshold are for shares, and root_key_source is ${source.kind}`)
  // Checked before a database is opened.
  for (const launch of launches) await requireRootKeySource(launch)
  const rotation =
    provider === undefined ? prepareRotation(source as RootKeySource, terminal) : rotateProvided(provider)
  return withDatabases({ home, terminal }, async (databases) => {
    const approved = await requireApproval(databases, rotation.readOld)
    terminal.out(await rotation.run(databases, async (step) => terminal.out(`  ${step}`)))
    await approved()
    return 0
  })
}

async function rotateShares(
  databases: readonly ServiceDatabase[],
  shares: RequestedShares,
  { out }: Terminal,
): Promise<number> {
  await replaceShares(databases, databases[0]?.launch.home ?? '.', shares, out)
  out(
    'both databases use new root keys in new shares: give each holder the file with their name, and make a new backup.',
  )
  out('The former shares open only backups that were made before: keep them as long as those backups.')
  return 0
}

interface Rotation {
  /** Both the old and the new root keys, after an interrupted rotation. */
  readonly readOld: (database: ServiceDatabase) => Promise<readonly RootKey[]>
  /** @returns the sentence for the operator */
  run(databases: readonly ServiceDatabase[], onStep: (step: string) => Promise<void>): Promise<string>
}

function rotateProvided(provider: RootKeyProvider): Rotation {
  return {
    readOld: readPresentKeys,
    async run(databases, onStep) {
      const options = { databases, onStep, readOld: readPresentKeys, now: systemClock.now() }
      await moveToProvider(provider, { ...options, again: true })
      return `both databases use new root keys, wrapped by ${provider.description}: make a new backup`
    },
  }
}

/** Reads the keys. @throws StartupError when a key is missing */
function prepareRotation(source: RootKeySource, { env }: Terminal): Rotation {
  if (source.kind === 'file') {
    requireRootKeyFile(source.path)
    return {
      readOld: async () => loadRootKeys(source, env, { create: false }),
      async run(databases, onStep) {
        await rotateRootKeyFile(source.path, { databases, onStep })
        return `${source.path} is a new key: store a copy of it elsewhere`
      },
    }
  }
  const [old, fresh] = [requireKey(source, { env }), requireKey(getNextSource(source), { env })]
  return {
    readOld: async () => [old, fresh],
    async run(databases, onStep) {
      await rotateRootKey(old, fresh, { databases, onStep })
      return `both databases use the new root key: start the services with it in ${old.from}`
    },
  }
}

/** The source of the new root key, beside that of the old one. */
function getNextSource(source: Exclude<RootKeySource, { kind: 'file' }>): RootKeySource {
  return source.kind === 'systemd'
    ? { ...source, credential: `${source.credential}.new` }
    : { ...source, variable: `${source.variable}_NEW` }
}

/**
 * Requires an approval, if the settings of the kms demand one for the root key.
 * @returns a function that consumes the approval
 * @throws StartupError
 */
export async function requireApproval(
  databases: readonly ServiceDatabase[],
  readKeys: (database: ServiceDatabase) => Promise<readonly RootKey[]>,
): Promise<() => Promise<void>> {
  const kms = databases.find(({ service }) => service === 'kms')
  if (kms === undefined || (await isUnsealed(kms.db))) return async () => undefined
  const { db, service } = kms
  const { rootKeyApproval } = await import('@warder/keys')
  const seal = await openSeal({ db, service, rootKeys: await readKeys(kms), clock: systemClock })
  const used = await rootKeyApproval({ db, seal, now: systemClock.now() })
  return async () => {
    if (used !== undefined) await db.commit([used])
  }
}
