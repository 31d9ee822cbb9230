import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, isAbsolute, join, normalize } from 'node:path'
import type { ServiceName } from '@warder/command-line/endpoints'
import { type BackupLine, BackupRefused } from './lines.ts'

// The staging folder of a restore.

/** Creates an empty folder with mode 0700; removes the remains of an interrupted restore. */
export function createEmptyFolder(path: string): string {
  removeFolder(path)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true })
}

/**
 * Writes a part of a file of the home.
 * @returns true for the first part
 * @throws BackupRefused when the file is outside the home
 */
export function writeFilePart(home: string, line: Extract<BackupLine, { kind: 'file' }>): boolean {
  const inside = normalize(line.path)
  if (isAbsolute(inside) || inside.startsWith('..') || inside === '.')
    throw new BackupRefused('the backup contains a file outside the home')
  const target = join(home, inside)
  const bytes = Buffer.from(line.data, 'base64')
  if (!line.first) {
    appendFileSync(target, bytes, { flush: true })
    return false
  }
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  writeFileSync(target, bytes, { mode: 0o600, flag: 'wx', flush: true })
  chmodSync(target, line.mode & 0o700)
  return true
}

/** Sets database_url in the settings of a service. */
export function setDatabase(home: string, service: ServiceName, url: string): void {
  const file = join(home, `${service}.toml`)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const others = text
    .split('\n')
    .filter((known) => !/^\s*(?:database_url|"database_url"|'database_url')\s*=/.test(known))
  // Before the first table, because later the key would belong to that table.
  writeFileSync(file, `database_url = ${JSON.stringify(url)}\n${others.join('\n')}`, { mode: 0o600 })
}
