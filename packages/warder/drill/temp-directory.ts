import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const prefix = 'warder-drill-'

/** Creates a folder for one drill, with mode 0700. Removes the folders of killed drills. */
export function createTempDirectory(): string {
  removeStaleDirectories()
  return mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`))
}

export function removeTempDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}

function removeStaleDirectories(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^warder-drill-(\d+)-/.exec(name) ?? []
    if (pid === undefined || isAlive(Number(pid))) continue
    const directory = join(tmpdir(), name)
    if (statSync(directory, { throwIfNoEntry: false })?.uid === process.getuid?.())
      removeTempDirectory(directory)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
