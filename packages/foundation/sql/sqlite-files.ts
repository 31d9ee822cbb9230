import { closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { StartupError } from '../errors/index.ts'

/**
 * Creates the file of a new database with mode 0600; SQLite gives the -wal and -shm files the mode of the database.
 *
 * POSIX drops every lock of a process on a file when the process closes any descriptor of that file. Another program
 * would then take itself for the last user of the database and remove its write-ahead log. So no code of this process
 * opens a file of a database beside SQLite: `O_EXCL` opens nothing where the file exists.
 * @throws StartupError when it cannot be created
 */
export function createDatabaseFile(path: string): void {
  if (path === ':memory:') return
  try {
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw new StartupError(`cannot open the database ${path}: ${message}`)
    // A symbolic link without a target: SQLite would create that with a mode that lets others read it.
    if (!existsSync(path))
      throw new StartupError(
        `the database ${path} is a link to a file that does not exist: create the target`,
      )
  }
}

/** Compares the files of an open database with those that the connection was opened on. */
export interface DatabaseFiles {
  /** The sentence for the operator when a file was removed or replaced; undefined = all are as they were. */
  problem(): string | undefined
}

/**
 * Remembers which files a connection uses. SQLite removes and creates -wal and -shm only when nobody else has the
 * database open, so they stay the same for as long as this connection does. Asks by path: nothing is opened.
 * @param path of a database that this thread has open
 */
export function databaseFiles(path: string): DatabaseFiles {
  if (path === ':memory:') return { problem: () => undefined }
  const files: readonly OpenedFile[] = [path, `${path}-wal`, `${path}-shm`].map((file) => ({
    file,
    opened: identityOf(file),
  }))
  let found: string | undefined
  return {
    problem() {
      // What was written to a removed file stays lost, whatever is put in its place.
      if (found !== undefined) return found
      const other = files.find(isOther)
      if (other !== undefined)
        found =
          `${other.file} was removed or replaced by another program while the database was open; nothing is written ` +
          'any more. Stop the service, keep a copy of the database files, and start it again: it says whether ' +
          'acknowledged changes are missing'
      return found
    },
  }
}

interface OpenedFile {
  readonly file: string
  /** undefined = SQLite had not created it yet: a new database has no write-ahead log before its first commit. */
  opened: string | undefined
}

function isOther(one: OpenedFile): boolean {
  const now = identityOf(one.file)
  one.opened ??= now
  return now !== one.opened
}

/** Device and inode; undefined = there is no such file. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}
