import { chownSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Kinds of notes about a home. */
export type Note = 'backup' | 'drill'

/** Notes that it went well just now. */
export function note(home: string, what: Note, now: number): void {
  const path = join(home, `${what}.json`)
  writeFileSync(`${path}.new`, `${JSON.stringify({ at: new Date(now).toISOString() })}\n`, { mode: 0o600 })
  // The service that reads it may be another user than root, who made the backup.
  const { uid, gid } = statSync(home)
  if (process.getuid?.() === 0 && uid !== 0) chownSync(`${path}.new`, uid, gid)
  renameSync(`${path}.new`, path)
}

/** Unix seconds; 0 = never, or the note cannot be read. */
export function notedAt(home: string, what: Note): number {
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
