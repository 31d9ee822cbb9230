import { closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { describeWriteError, StartupError } from '@warder/base'

/**
 * Creates the file of a new database with mode 0600; SQLite creates the -wal and -shm files with the mode of the
 * database.
 *
 * POSIX drops every lock of a process on a file when the process closes any descriptor of that file. Another program
 * would then consider itself the last user of the database and remove its write-ahead log. So no code of this process
 * opens a file of a database beside SQLite: `O_EXCL` opens nothing if the file exists.
 * @throws StartupError when it cannot be created
 */
export function createDatabaseFile(path: string): void {
  if (path === ':memory:') return
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST')
      throw new StartupError(`cannot open the database ${path}: ${describeWriteError(error, path)}`)
    // A symbolic link without a target: SQLite would create that with a mode that lets others read it.
    if (!existsSync(path))
      throw new StartupError(
        `the database ${path} is a link to a file that does not exist: create the target`,
      )
  }
}

/**
 * Size of a database with its log, which belongs to it after a process was killed. Reads sizes by path, without opening
 * a file.
 */
export function getDatabaseBytes(path: string): number {
  const getFileSize = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return getFileSize(path) + getFileSize(`${path}-wal`)
}

/** Compares the files of an open database with those that the connection was opened on. */
export interface DatabaseFiles {
  /** The message for the operator, once a check found a file removed or replaced; undefined = none was. */
  problem(): string | undefined
  /** Looks at all of them: some microseconds, also after each group of commits. */
  check(): void
}

/**
 * Detects replaced files of a connection. SQLite removes and creates -wal and -shm only when no other connection has the
 * database open, so they stay the same while this connection is open. It checks paths, and opens nothing.
 * @param path of a database that this thread has open
 * @param onProblem called once
 */
export function watchDatabaseFiles(path: string, onProblem?: (problem: string) => void): DatabaseFiles {
  if (path === ':memory:') return { problem: () => undefined, check: () => undefined }
  const files = [path, `${path}-wal`, `${path}-shm`].map(toOpenedFile)
  let problem: string | undefined
  const checkFile = (one: OpenedFile): void => {
    // Writes to a removed file are lost, even if it is replaced.
    if (problem !== undefined || !isOther(one)) return
    problem =
      `${one.file} was removed or replaced by another program while the database was open; writing has stopped. ` +
      'Stop the service, keep a copy of the database files, and start it again: the start reports whether acknowledged ' +
      'changes are missing'
    onProblem?.(problem)
  }
  return {
    problem: () => problem,
    check: () => files.forEach(checkFile),
  }
}

interface OpenedFile {
  readonly file: string
  /** undefined = SQLite had not created it yet: a new database has no write-ahead log before its first commit. */
  opened: string | undefined
}

function toOpenedFile(file: string): OpenedFile {
  return { file, opened: readIdentity(file) }
}

function isOther(one: OpenedFile): boolean {
  const now = readIdentity(one.file)
  one.opened ??= now
  return now !== one.opened
}

/**
 * Device and inode; undefined = there is no such file. Plain numbers if they are exact: a stat with BigInts costs twice
 * as much, and each commit waits for one.
 */
function readIdentity(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || Number.isSafeInteger(stat.ino)) return stat && `${stat.dev}:${stat.ino}`
  const exact = statSync(path, { bigint: true, throwIfNoEntry: false })
  return exact && `${exact.dev}:${exact.ino}`
}
