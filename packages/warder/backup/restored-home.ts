import {
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { restoreFolder, StartupError, takeLock } from '@warder/base'
import { removeFolder } from './staging.ts'

// A home that is being restored has a staging folder; no service starts while it exists:
//
//   files        the future content of the home
//   restored_at  first start of this restore; identifies the databases that it has finished
//   complete     JSON: files and databases are complete, only renames are left

const lockName = 'restore.lock'
const rootKeyName = 'root.key'
/** `lost+found` is the folder of a file system that is mounted at the home. */
const ignored: ReadonlySet<string> = new Set([restoreFolder, lockName, 'lost+found'])

export interface Move {
  readonly from: string
  readonly path: string
}

/** Remaining steps of a restore, and its report. Stored as JSON. */
export interface Complete<Report> {
  readonly digest: string
  /** Files outside the home. */
  readonly moves: readonly Move[]
  readonly told: Report
}

/** A home that is being restored. */
export interface HomeRestore<Report> {
  /** Staging folder for its files. */
  readonly files: string
  /** First start of this restore, also after an interruption. Unix milliseconds. */
  readonly restoredAt: number
  /** An interrupted restore may have finished databases. */
  readonly isInterrupted: boolean
  /** Given if the interrupted restore had only renames left. */
  readonly complete: Complete<Report> | undefined
  /** @throws StartupError when a root key exists that differs from the one in the backup */
  requirePlace(): void
  /** Moves everything to its place, durably. If interrupted, the next restore finishes it. */
  finish(complete: Complete<Report>): void
  /**
   * Removes the staged files, unless only renames are left.
   * @param databasesFinished a database may be finished, and the next restore must recognize it
   */
  abandon(databasesFinished: boolean): void
  /** Releases the lock on the home. */
  release(): void
}

/**
 * Locks a home that is missing, or empty except for a root key.
 * @param home absolute
 * @param now Unix milliseconds
 * @throws StartupError when it is not empty, or another restore has locked it
 */
export function beginHomeRestore<Report>(home: string, now: number): HomeRestore<Report> {
  if (existsSync(home) && !statSync(home).isDirectory()) throw new StartupError(`${home} is not a folder`)
  const made = mkdirSync(home, { recursive: true, mode: 0o700 }) !== undefined
  const staging = join(home, restoreFolder)
  const files = join(staging, 'files')
  let unlock: () => void = () => undefined
  const release = (): void => {
    unlock()
    if (made && readdirSync(home).length === 0) rmdirSync(home)
  }
  try {
    unlock = takeLock(
      join(home, lockName),
      (pid) => `another restore into ${home} is running (process ${pid})`,
    )
    const complete = readComplete<Report>(staging)
    let isComplete = complete !== undefined
    if (complete === undefined) requireEmpty(home)
    const interruptedAt = readTime(join(staging, 'restored_at'))
    const isInterrupted = interruptedAt !== undefined
    if (complete === undefined) resetStaging(staging, files, isInterrupted ? undefined : now)
    return {
      files,
      restoredAt: interruptedAt ?? now,
      isInterrupted,
      complete,
      requirePlace: () => requireOneRootKey(home, files),
      finish(found) {
        changeOwners(home, [join(home, rootKeyName), files, ...found.moves.map(({ from }) => from)])
        writeDurably(join(staging, 'complete'), JSON.stringify(found))
        isComplete = true
        for (const { from, path } of found.moves) if (existsSync(from)) renameDurably(from, path)
        for (const name of readdirSync(files)) renameDurably(join(files, name), join(home, name))
        for (const { from } of found.moves) removeFolder(dirname(from))
        removeFolder(staging)
      },
      abandon(databasesFinished) {
        if (isComplete) return
        // The next restore must recognize the rows that are in the databases.
        removeFolder(databasesFinished || isInterrupted ? files : staging)
      },
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/** @param restoredAt time to record; undefined = keep that of the interrupted restore */
function resetStaging(staging: string, files: string, restoredAt: number | undefined): void {
  removeFolder(restoredAt === undefined ? files : staging)
  mkdirSync(files, { recursive: true, mode: 0o700 })
  if (restoredAt === undefined) return
  try {
    writeDurably(join(staging, 'restored_at'), String(restoredAt))
  } catch (error) {
    removeFolder(staging)
    throw error
  }
}

function requireEmpty(home: string): void {
  const found = readdirSync(home).filter((name) => !ignored.has(name) && name !== rootKeyName)
  if (found.length > 0)
    throw new StartupError(
      `${home} is not empty (${found[0]}), and a restore overwrites nothing: use a new folder with --home, or move its content away`,
    )
}

/** A root key that is already in the home stays. */
function requireOneRootKey(home: string, files: string): void {
  const [there, restored] = [join(home, rootKeyName), join(files, rootKeyName)]
  if (!existsSync(there) || !existsSync(restored)) return
  if (!readFileSync(there).equals(readFileSync(restored)))
    throw new StartupError(`${there} differs from the root key in the backup: move it away`)
}

/** Changes the owner of files that root restores to the owner of the home. */
function changeOwners(home: string, paths: readonly string[]): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(home)
  if (uid === 0) return
  const changeOwner = (path: string): void => lchownSync(path, uid, gid)
  for (const path of paths.filter(existsSync)) {
    changeOwner(path)
    if (!statSync(path).isDirectory()) continue
    for (const entry of readdirSync(path, { recursive: true, withFileTypes: true }))
      changeOwner(join(entry.parentPath, entry.name))
  }
}

function readComplete<Report>(staging: string): Complete<Report> | undefined {
  const path = join(staging, 'complete')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Complete<Report>) : undefined
}

function readTime(path: string): number | undefined {
  const time = existsSync(path) ? Number(readFileSync(path, 'utf8')) : Number.NaN
  return Number.isSafeInteger(time) ? time : undefined
}

/** Writes a file atomically. */
function writeDurably(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true })
  renameDurably(`${path}.new`, path)
}

/** Renames a complete file, durably. */
function renameDurably(from: string, path: string): void {
  renameSync(from, path)
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
