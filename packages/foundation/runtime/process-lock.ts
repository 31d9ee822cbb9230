import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { StartupError } from '../errors/index.ts'

/**
 * A lock file that one process of the machine holds. It names its holder by process id and the time that process
 * started, so that a lock left by one that was killed is told from one that is held (a process id may be used again).
 * @param held the sentence when another process has it
 * @returns what lets go of it
 * @throws StartupError
 */
export function takeLock(path: string, held: (pid: string) => string): () => void {
  const mine = `${process.pid} ${startOf(process.pid)}\n`
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      const descriptor = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
      writeSync(descriptor, mine)
      closeSync(descriptor)
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new StartupError(`${path} cannot be written: ${(error as Error).message}`)
      }
    }
    const [pid = '', started = ''] = existsSync(path) ? readFileSync(path, 'utf8').trim().split(' ') : []
    if (pid !== '' && isHeld(Number(pid), started)) throw new StartupError(held(pid))
    rmSync(path, { force: true })
  }
  throw new StartupError(`${path} is taken by another process that is starting`)
}

function isHeld(pid: number, started: string): boolean {
  if (pid === process.pid) return started === startOf(pid)
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const now = startOf(pid)
  return now === 'unknown' || now === started
}

/**
 * Start time of a process in clock ticks since boot (Linux); `ended` for one that was killed and only waits to be
 * collected (in a container nobody may do that). Elsewhere unknown, and a live process counts as the holder.
 */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : (fields[19] ?? 'unknown')
  } catch {
    return 'unknown'
  }
}
