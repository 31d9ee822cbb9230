import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { describeWriteError, StartupError } from '../errors.ts'

/** Folder of a home that is being restored: all of it is there until everything has come. */
export const restoreFolder = '.restoring'

/**
 * Opens `WARDER_HOME`: creates it with mode 0700 if it is missing, and checks that it is writable.
 * @returns its absolute path
 * @throws StartupError with one line that describes the correction
 */
export function openHome(path: string): string {
  const home = resolve(path)
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(
      `cannot create the home folder ${home}: ${describeWriteError(error, home)}; set WARDER_HOME or --home to another`,
    )
  }
  requireUsableHome(home)
  const probe = resolve(home, `.writable-${randomUUID()}`)
  try {
    closeSync(openSync(probe, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600))
    unlinkSync(probe)
  } catch (error) {
    throw new StartupError(
      `the home folder ${home} cannot be written: ${describeWriteError(error, probe)}; set WARDER_HOME or --home to another`,
    )
  }
  return home
}

/** Files with secrets, directly in the home or in `tls`. */
const secretFile = /\.key(?:\.next)?$|\.p12$|\.pfx$|\.toml$|\.db(?:-wal|-shm)?$|^initial-admin-password$/

/**
 * Secret files that other users of this machine can read: the service cannot undo a disclosure.
 * @returns their names in the home; none if others cannot enter the home
 */
export function findExposedFiles(home: string): readonly string[] {
  if (process.platform === 'win32' || !mayEnter(home)) return []
  return ['', 'tls'].flatMap((folder) => {
    const path = join(home, folder)
    if (!existsSync(path) || !mayEnter(path)) return []
    return readdirSync(path)
      .filter((name) => secretFile.test(name))
      .map((name) => join(folder, name))
      .filter((name) => ((statSync(join(home, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o044) !== 0)
  })
}

function mayEnter(folder: string): boolean {
  return (statSync(folder).mode & 0o011) !== 0
}

/**
 * Looks at a home folder that is there, and writes nothing.
 * @throws StartupError for one that a start refuses
 */
export function requireUsableHome(home: string): void {
  const { mode } = statSync(home)
  if (process.platform !== 'win32' && (mode & 0o022) !== 0) {
    throw new StartupError(`the home folder ${home} can be written by other users: run chmod 700 on it`)
  }
  if (existsSync(join(home, restoreFolder)))
    throw new StartupError(
      `a restore into ${home} is running or was interrupted: run warder restore again with the same backup`,
    )
  try {
    accessSync(home, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartupError(
      `the home folder ${home} cannot be written: ${describeWriteError(error, home)}; set WARDER_HOME or --home to another`,
    )
  }
}

/**
 * Writes a file once, mode 0600; an existing one is left alone (its owner may have edited it).
 * @returns true when it was written now
 */
export function writeOnce(path: string, text: string): boolean {
  if (existsSync(path)) return false
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    // A part of it must not pass for the file at the next start.
    rmSync(path, { force: true })
    throw new StartupError(`cannot write ${path}: ${describeWriteError(error, path)}`)
  }
}

/** Paths in settings that are not absolute start at the home folder. */
export function inHome(home: string, path: string): string {
  return isAbsolute(path) ? path : join(home, path)
}
