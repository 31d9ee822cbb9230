import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../errors/index.ts'

const pattern = /^audit-(\d{16})\.jsonl$/

/** Files of a log in their order; the name carries the `seq` of the first record. */
export function logFiles(folder: string): readonly { readonly path: string; readonly firstSeq: number }[] {
  return readdirSync(folder)
    .map((name) => ({ name, match: pattern.exec(name) }))
    .filter(({ match }) => match !== null)
    .map(({ name, match }) => ({ path: join(folder, name), firstSeq: Number(match?.[1]) }))
    .sort((a, b) => a.firstSeq - b.firstSeq)
}

export function logFileName(folder: string, firstSeq: number): string {
  return join(folder, `audit-${String(firstSeq).padStart(16, '0')}.jsonl`)
}

/** Puts a broken log aside under another name. @returns the new names and their SHA-256 */
export async function setAside(
  paths: readonly string[],
  stamp: string,
): Promise<readonly { readonly file: string; readonly sha256: string }[]> {
  const sealed: { file: string; sha256: string }[] = []
  for (const path of paths) {
    const digest = createHash('sha256')
    for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
    const name = `${path}.broken-${stamp}`
    renameSync(path, name)
    sealed.push({ file: name.slice(name.lastIndexOf('/') + 1), sha256: digest.digest('hex') })
  }
  return sealed
}

export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Only one process writes a log. The lock names its holder by process id and the time that process started, so that
 * a lock left by one that was killed is told from one that is held (a process id may be used again).
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, 'writer.lock')
  const mine = `${process.pid} ${startOf(process.pid)}\n`
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      const descriptor = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
      writeSync(descriptor, mine)
      closeSync(descriptor)
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new StartupError(`the audit folder ${folder} cannot be written: ${(error as Error).message}`)
      }
    }
    const [pid = '', started = ''] = existsSync(path) ? readFileSync(path, 'utf8').trim().split(' ') : []
    if (pid !== '' && isHeld(Number(pid), started)) {
      throw new StartupError(
        `the audit folder ${folder} is being written by process ${pid}: is this service running already?`,
      )
    }
    rmSync(path, { force: true })
  }
  throw new StartupError(`the audit folder ${folder} is locked by another process that is starting`)
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
