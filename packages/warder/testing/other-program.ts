import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'

/**
 * Another SQLite program, for a moment: opens the database, reads it and closes it, as `sqlite3 FILE 'SELECT …'` does.
 * @param statement another one to run, e.g. a checkpoint
 */
export function lookInto(path: string, statement = 'SELECT count(*) FROM sqlite_schema'): void {
  const program = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(process.argv[1], { timeout: 5000 })
    db.prepare(process.argv[2]).get()
    db.close()`
  execFileSync(process.execPath, ['--no-warnings', '-e', program, path, statement], { stdio: 'pipe' })
}

/** The locks of a process on a file as the kernel tells them (Linux); without one, SQLite takes nobody for its user. */
export function locksOn(path: string, pid: number): readonly string[] {
  const inode = String(statSync(path).ino)
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter((line) => {
      // `1: POSIX ADVISORY READ 4711 08:01:1234 128 128`
      const [, , , , holder, place] = line.trim().split(/\s+/)
      return holder === String(pid) && place?.split(':')[2] === inode
    })
}
