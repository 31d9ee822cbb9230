import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const prefix = 'warder-drill-'

/** A folder for one drill, for its user alone. Those of drills that were killed are removed. */
export function takeRoom(): string {
  removeLeft()
  return mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
}

export function removeRoom(room: string): void {
  rmSync(room, { recursive: true, force: true, maxRetries: 3 })
}

function removeLeft(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^warder-drill-(\d+)-/.exec(name) ?? []
    if (pid === undefined || isAlive(Number(pid))) continue
    const room = join(tmpdir(), name)
    if (statSync(room, { throwIfNoEntry: false })?.uid === process.getuid?.()) removeRoom(room)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
