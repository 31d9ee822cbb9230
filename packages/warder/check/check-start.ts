import { existsSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isLockHeld, requireUsableHome, StartupError, systemClock } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import type { ServiceName } from '@warder/command-line/endpoints'
import {
  checkSettings,
  inspectDatabase,
  rootKeySource,
  type ServiceLaunch,
  toDatabaseLocation,
} from '@warder/runtime/launch'
import { getDatabaseBytes, type MigrationPlan } from '@warder/storage'
import { configureBoth, configureTogether, requireTogether } from '../installation/together.ts'
import { claimPorts, getListenAddresses, type ListenAddresses } from '../start/listen-addresses.ts'

/** Result of a dry run of `warder start`. */
interface StartCheck {
  readonly databases: readonly DatabaseState[]
  readonly warnings: readonly string[]
}

/**
 * Runs the checks of `warder start`, in its order and with the same environment. Starts nothing and writes nothing. Ports
 * are checked only while the services do not run.
 * @throws StartupError for settings that a start refuses
 */
export async function checkStart(home: string, env: Terminal['env']): Promise<StartCheck> {
  if (!existsSync(home)) throw new StartupError(`the home folder ${home} does not exist: check --home`)
  requireUsableHome(home)
  const configured = configureBoth(home, env)
  const addresses = getListenAddresses(configured.auth, configured.kms)
  const isRunning = isLockHeld(join(home, 'start.lock'))
  const claimed = await claimPorts(isRunning ? useFreePorts(addresses) : addresses)
  try {
    const ports = { auth: claimed[0].port, kms: claimed[1].port }
    return await checkBoth(configureTogether(configured, env, ports))
  } finally {
    for (const port of claimed) port?.release()
  }
}

/** The running services occupy the ports of the settings, so free ones are checked. */
function useFreePorts({ auth, kms, socket, plain }: ListenAddresses): ListenAddresses {
  const [authPort, kmsPort] = [
    { ...auth, port: 0 },
    { ...kms, port: 0 },
  ]
  return { auth: authPort, kms: kmsPort, socket: socket && { ...socket, port: 0 }, plain }
}

async function checkBoth({ auth, kms, authUrl }: ReturnType<typeof configureTogether>): Promise<StartCheck> {
  await requireTogether(auth, kms, authUrl)
  const warnings = [...auth.loaded.warnings, ...kms.loaded.warnings]
  for (const { launch } of [auth, kms]) warnings.push(...(await checkSettings(launch)))
  const databases = [await readDatabaseState('auth', auth.launch), await readDatabaseState('kms', kms.launch)]
  warnings.push(...databases.flatMap((state) => state.warnings))
  return { databases, warnings }
}

/** Lists the reasons to refuse a start that concern the databases, one line each. */
export function listRefusals({ databases }: StartCheck): readonly string[] {
  return databases.flatMap(({ service, refusal }) =>
    refusal === undefined ? [] : [refusal.startsWith(`${service}:`) ? refusal : `${service}: ${refusal}`],
  )
}

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

function warnOfShares(service: ServiceName): string {
  return `${service}: a start waits for shares of the root key (warder unseal); sealed values were not checked`
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
  /** For the operator. */
  readonly warnings: readonly string[]
}

/** Reads the state of a database; a reason to refuse the start is part of it, not an error. */
async function readDatabaseState(service: ServiceName, launch: ServiceLaunch): Promise<DatabaseState> {
  const place = toDatabaseLocation(launch.config, launch.home, service)
  const engine = place.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'
  const found = await inspectDatabase(launch, place, systemClock.now())
  const isChanged = [...(found.plans?.values() ?? [])].some(({ pending }) => pending.length > 0)
  const warnings = [
    ...(isChanged && place.kind === 'sqlite' ? [warnOfDiskSpace(place.path)] : []),
    ...(rootKeySource(launch).kind === 'shares' ? [warnOfShares(service)] : []),
  ].filter((warning) => warning !== undefined)
  return { service, engine, ...found, warnings }
}
