import { inHome, type Logger, StartupError, systemClock } from '@warder/base'
import {
  type Database,
  describeMove,
  isUnsealed,
  loadRootKeys,
  openProvidedRootKey,
  type RootKey,
  type RootKeyProvider,
  type RootKeySource,
} from '@warder/storage'
import type { RootKeyLaunch } from './launch.ts'

/** Where the root key is: in a source that holds it, or wrapped by a provider of this name. */
export type ConfiguredRootKeySource = RootKeySource | { readonly kind: 'provider'; readonly name: string }

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
  else loadRootKeys(source, launch.env, { create: false })
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
