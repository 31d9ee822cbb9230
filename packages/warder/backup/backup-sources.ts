import { isAbsolute, join, relative, resolve } from 'node:path'
import { inHome, StartupError } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { type ServiceName, serviceNames } from '@warder/command-line/endpoints'
import { type DatabaseLocation, rootKeySource, toDatabaseLocation } from '@warder/runtime/launch'
import { configure } from '../installation/configuration.ts'

// Locations of the parts of an installation. This module opens no database file: see docs/adr/rollback-detection.md.

/** Files of the running system, and the key that signs backups, so that no recipient can sign. */
const transientFiles =
  /^(?:logins\/|\.restoring\/|drill\.json$|backup\.json$|backup-signing\.|shares\.next$)|(?:^|\/)(?:endpoints\.json|.*\.lock|\.writable-[^/]*|.*\.new)$/

export interface BackupSources {
  readonly databases: readonly {
    readonly service: ServiceName
    readonly place: DatabaseLocation
    readonly log: string
  }[]
  /** Files outside the home that settings name, and that no backup contains: `SETTING PATH`. */
  readonly externalFiles: readonly string[]
  /** Whether a backup includes a file of the home; never a database file. */
  isKept(path: string): boolean
}

/**
 * @param home absolute
 * @throws StartupError when the root key is requested and is outside the home
 */
export function findBackupSources(
  home: string,
  env: Terminal['env'],
  wanted: { readonly rootKey: boolean; readonly audit: boolean },
): BackupSources {
  const services = serviceNames.map((service) => {
    const { launch, loaded } = configure(service, home, [], env)
    const { config } = launch
    const place = toDatabaseLocation(config, home, service)
    const source = rootKeySource(launch)
    const rootKeys = source.kind === 'file' ? [resolve(source.path)] : []
    // They unwrap the root key in the backup.
    const credentials = listRootKeyCredentials(loaded.values, home)
    const externalFiles = listExternalFiles(loaded.values, home)
    return {
      service,
      place,
      log: join(home, 'audit', service),
      rootKeys,
      credentials,
      elsewhere: externalFiles,
    }
  })
  const rootKeys = services.flatMap((one) => one.rootKeys)
  const secrets = [...rootKeys, ...services.flatMap((one) => one.credentials)]
  const outside = wanted.rootKey ? rootKeys.find((path) => isOutside(home, path)) : undefined
  if (outside !== undefined)
    throw new StartupError(
      `the root key ${outside} is outside the home: omit --root-key, and store a copy of the key separately`,
    )
  // A database, and the files of SQLite beside it with longer names.
  const databases = services.flatMap(({ place }) => (place.kind === 'sqlite' ? [resolve(place.path)] : []))
  return {
    databases: services,
    externalFiles: [...new Set(services.flatMap((one) => one.elsewhere))],
    isKept(path) {
      const name = relative(home, path)
      if (transientFiles.test(name) || databases.some((database) => path.startsWith(database))) return false
      if (!wanted.rootKey && secrets.some((secret) => path.startsWith(secret))) return false
      return wanted.audit || !name.startsWith('audit/') || name.endsWith('/checkpoint.pub')
    },
  }
}

/** Files of the home with which a source unwraps the root key. */
function listRootKeyCredentials(values: Readonly<Record<string, unknown>>, home: string): readonly string[] {
  return Object.entries(values).flatMap(([name, path]) =>
    /^root_key_\w+\.(?:token|secret_id|key|pin|credentials|client_secret|client_certificate)_file$/.test(
      name,
    ) && typeof path === 'string'
      ? [resolve(inHome(home, path))]
      : [],
  )
}

function listExternalFiles(values: Readonly<Record<string, unknown>>, home: string): readonly string[] {
  return Object.entries(values)
    .filter(([name]) => /_files?$/.test(name) && name !== 'root_key_file')
    .flatMap(([name, value]) => [value].flat().map((path) => [name, path] as const))
    .filter(([, path]) => typeof path === 'string' && isAbsolute(path) && isOutside(home, path))
    .map(([name, path]) => `${name} ${path}`)
}

export function isOutside(home: string, path: string): boolean {
  const name = relative(home, path)
  return name.startsWith('..') || isAbsolute(name)
}
