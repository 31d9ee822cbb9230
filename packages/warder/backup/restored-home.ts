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
import { StartupError } from '@warder/foundation/errors'
import { restoreFolder } from '@warder/foundation/home'
import { takeLock } from '@warder/foundation/runtime'
import { removeFolder } from './staging.ts'

// A home that is being restored has a folder in which everything is put first, and no service starts while it is there:
//
//   files      what the home will hold
//   restored_at  when this restore was first begun: databases that it has finished are known by it
//   complete   JSON: all of it is there, in the databases too; only renames are left

const lockName = 'restore.lock'
const rootKeyName = 'root.key'
/** A file system that is mounted at the home has its own folder there. */
const ignored: ReadonlySet<string> = new Set([restoreFolder, lockName, 'lost+found'])

export interface Move {
  readonly from: string
  readonly path: string
}

/** Remaining steps of a restore, and its report. */
export interface Complete<Report> {
  readonly digest: string
  /** Files that lie elsewhere than in the home. */
  readonly moves: readonly Move[]
  readonly told: Report
}

/** A home that is being filled. */
export interface HomeRestore<Report> {
  /** Folder for its files. */
  readonly files: string
  /** When this restore was begun: of one that goes on after an interruption, the first time. Unix milliseconds. */
  readonly restoredAt: number
  /** Databases may have been finished by a restore that was interrupted. */
  readonly isInterrupted: boolean
  /** Everything was there when that one was interrupted. */
  readonly complete: Complete<Report> | undefined
  /** @throws StartupError when a file is in the way */
  requirePlace(): void
  /** Puts everything into its place, for good. What is interrupted here is finished by the next restore. */
  finish(complete: Complete<Report>): void
  /**
   * Takes away what was put there, unless all of it is there and only renames are left.
   * @param databasesFinished a database may be finished: the next restore has to know it as its own
   */
  abandon(databasesFinished: boolean): void
  /** Lets go of the home. */
  release(): void
}

/**
 * Takes a home that is missing or holds nothing but a root key.
 * @param home absolute
 * @param now Unix milliseconds
 * @throws StartupError when there is something in it, or another restore has it
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
    unlock = takeLock(join(home, lockName), (pid) => `a restore into ${home} is under way (process ${pid})`)
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
        // The rows that are in the databases must still be known.
        removeFolder(databasesFinished || isInterrupted ? files : staging)
      },
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

/** @param restoredAt to be noted; undefined = that of the restore which was interrupted stays */
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
      `${home} is not empty (${found[0]}): a restore replaces nothing. Name a new folder with --home, or move what is in it away`,
    )
}

/** The one that was put there beforehand stays. */
function requireOneRootKey(home: string, files: string): void {
  const [there, restored] = [join(home, rootKeyName), join(files, rootKeyName)]
  if (!existsSync(there) || !existsSync(restored)) return
  if (!readFileSync(there).equals(readFileSync(restored)))
    throw new StartupError(`${there} is another root key than the one in the backup: move it away`)
}

/** Gives files that root restores into the folder of a service to that service. */
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

/** Whole, or not there. */
function writeDurably(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true })
  renameDurably(`${path}.new`, path)
}

/** Gives something that is whole its name, for good. */
function renameDurably(from: string, path: string): void {
  renameSync(from, path)
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
