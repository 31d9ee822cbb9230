import { closeSync, fstatSync, linkSync, openSync, renameSync, rmSync, type Stats, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, StartupError } from '@warder/base'

/** Longer than issuing takes: a lock of this age was left by a killed process. */
const staleMs = 30_000
const maxWaitMs = 60_000
const retryMs = 20

/**
 * Takes a lock file, waiting for the process that holds it. A stale lock is removed.
 * @returns a function that releases the lock
 * @throws StartupError when it is not released within a minute
 */
export async function lockFile(path: string, clock: Clock): Promise<() => void> {
  const deadline = clock.monotonic() + maxWaitMs
  for (;;) {
    const mine = create(path)
    if (mine !== undefined) return () => removeIf(path, mine)
    const found = statFile(path)
    if (found !== undefined && clock.now() - found.mtimeMs > staleMs) removeIf(path, found)
    else if (clock.monotonic() >= deadline) {
      throw new StartupError(
        `${path} is locked by another process that is starting; if there is none, remove it and start again`,
      )
    } else await pause(retryMs)
  }
}

function create(path: string): Stats | undefined {
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      return fstatSync(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
}

/** Removes only the lock that was read; a lock that another process created meanwhile is restored. */
function removeIf(path: string, expected: Stats): void {
  const found = statFile(path)
  if (found === undefined || !isSame(found, expected)) return
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (!isSame(statSync(aside), expected)) linkSync(aside, path)
  } catch {
    // Another process removed it first, or made its own in its place.
  }
  rmSync(aside, { force: true })
}

function statFile(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.mtimeMs === other.mtimeMs
}
