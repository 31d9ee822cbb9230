import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartupError } from '@warder/base'
import type { HomeContext, Terminal } from '@warder/command-line'
import { type ServiceName, serviceNames } from '@warder/command-line/endpoints'
import { toDatabaseLocation } from '@warder/runtime/launch'
import { configure } from '../installation/configuration.ts'

export interface Logs {
  /** Folders and files with records. */
  readonly paths: readonly string[]
  /** One line for each missing log. */
  readonly missing: readonly string[]
}

/** Finds the log at a path, or else the logs of the home. @throws StartupError when there is none */
export function findLogs(path: string | undefined, { home, terminal }: HomeContext): Logs {
  return path === undefined ? findHomeLogs(home, terminal.env) : findNamedLog(path)
}

/** @throws StartupError when the path does not exist */
function findNamedLog(path: string): Logs {
  if (!existsSync(path)) throw new StartupError(`${path} does not exist`)
  return { paths: [resolve(path)], missing: [] }
}

/** Finds the logs of both services; a service that was never started has none. @throws StartupError when there is no log */
function findHomeLogs(home: string, env: Terminal['env']): Logs {
  const logs = serviceNames.map((name) => ({ name, folder: resolve(join(home, 'audit', name)) }))
  const paths = logs.map(({ folder }) => folder).filter((folder) => existsSync(folder))
  if (paths.length === 0)
    throw new StartupError(`there is no audit log in ${resolve(home)}/audit: name the home with --home`)
  const missing = logs.flatMap(({ name, folder }) => {
    const database = paths.includes(folder) ? undefined : findDatabase(name, home, env)
    return database === undefined ? [] : [`${folder}: ${name} has a database (${database}) but no log`]
  })
  return { paths, missing }
}

/** Finds the database file of a service that has been started and writes an audit log. */
function findDatabase(name: ServiceName, home: string, env: Terminal['env']): string | undefined {
  const { config } = configure(name, home, [], env).launch
  if (!config.audit_enabled) return undefined
  const place = toDatabaseLocation(config, resolve(home), name)
  return place.kind === 'sqlite' && existsSync(place.path) ? place.path : undefined
}
