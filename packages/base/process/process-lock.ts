import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeWriteError, StartupError } from '../errors.ts'

/**
 * A lock file of one process of the machine. It names its holder by process id and the time that process started, so
 * that the lock of a killed process is distinguished from a held one (a process id may be used again), and its folder
 * by device and inode: the lock in a copy of the folder is that of the original, and the copy is not locked.
 * @param held the sentence when another process has it
 * @returns a function that releases it
 * @throws StartupError
 */
export function takeLock(path: string, formatHeld: (pid: string) => string): () => void {
  try {
    const folder = readFolderIdentity(dirname(path))
    const mine = `${process.pid} ${readStartTime(process.pid)} ${randomUUID()} ${folder}\n`
    for (let attempt = 0; attempt < 3; attempt += 1) {
      if (create(path, mine)) return () => removeIf(path, mine)
      const found = read(path)
      // Versions before wrote no folder: theirs count as locks of this one.
      const [pid = '', started = '', , lockedFolder = folder] = found.trim().split(' ')
      if (pid !== '' && lockedFolder === folder && isHeld(Number(pid), started))
        throw new StartupError(formatHeld(pid))
      removeIf(path, found)
    }
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw new StartupError(`${path} cannot be written: ${describeWriteError(error, path)}`)
  }
  throw new StartupError(`${path} is locked by another process that is starting`)
}

/** Whether a process has the lock now; nothing is written. */
export function isLockHeld(path: string): boolean {
  const text = read(path)
  if (text === '') return false
  const folder = readFolderIdentity(dirname(path))
  const [pid = '', started = '', , lockedFolder = folder] = text.trim().split(' ')
  return pid !== '' && lockedFolder === folder && isHeld(Number(pid), started)
}

/** Stays the same when the folder is renamed, or reached by another path. */
function readFolderIdentity(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true })
  return `${dev}:${ino}`
}

/** Creates the lock atomically with its text: no process can read a lock without its holder. */
function create(path: string, text: string): boolean {
  const made = `${path}.${randomUUID()}`
  try {
    writeFileSync(made, text, { mode: 0o600, flag: 'wx' })
    linkSync(made, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(made, { force: true })
  }
}

/** Removes the very lock with this text; one that another process made meanwhile is put back. */
function removeIf(path: string, text: string): void {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
    if (readFileSync(aside, 'utf8') !== text) linkSync(aside, path)
  } catch {
    // It was removed first, or there is another in its place already: neither is ours.
  }
  rmSync(aside, { force: true })
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function isHeld(pid: number, started: string): boolean {
  if (pid === process.pid) return started === readStartTime(pid)
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const now = readStartTime(pid)
  return now === 'unknown' || now === started
}

/**
 * Start time of a process in clock ticks since boot (Linux). `ended`: a zombie, which is a process that has ended and
 * whose parent has not waited for it, as happens in containers. `unknown`: on other systems; every running process with
 * the id then counts as the holder.
 */
function readStartTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : (fields[19] ?? 'unknown')
  } catch {
    return 'unknown'
  }
}
