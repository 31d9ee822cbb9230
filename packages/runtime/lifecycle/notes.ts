import { chownSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeWriteError } from '@warder/base'

/** Kinds of notes about a home. */
export type Note = 'backup' | 'drill'

/**
 * Stores the time of a success.
 * @returns a sentence when that fails, which does not undo the success
 */
export function writeNote(home: string, what: Note, now: number): string | undefined {
  const path = join(home, `${what}.json`)
  const fresh = `${path}.new`
  try {
    writeFileSync(fresh, `${JSON.stringify({ at: new Date(now).toISOString() })}\n`, { mode: 0o600 })
    // The service may run as another user than root, who made the backup.
    const { uid, gid } = statSync(home)
    if (process.getuid?.() === 0 && uid !== 0) chownSync(fresh, uid, gid)
    renameSync(fresh, path)
    return undefined
  } catch (error) {
    rmSync(fresh, { force: true })
    return `${path} cannot be written, so /metrics shows the previous ${what}: ${describeWriteError(error, path)}`
  }
}

/** Unix seconds; 0 = never, or the note cannot be read. */
export function readNoteTime(home: string, what: Note): number {
  const path = join(home, `${what}.json`)
  try {
    const { at } = JSON.parse(existsSync(path) ? readFileSync(path, 'utf8') : '{}') as {
      readonly at?: string
    }
    const time = Date.parse(at ?? '')
    return Number.isNaN(time) ? 0 : time / 1000
  } catch {
    return 0
  }
}
