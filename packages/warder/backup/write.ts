import { createReadStream, existsSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { StartupError } from '@warder/foundation/errors'
import { type CollectOptions, collect } from './collect.ts'
import { compressedLines, linesIn } from './lines.ts'
import { BackupRefused } from './refused.ts'
import { openStream, sealStream } from './sealed-stream.ts'
import { type Recipients, unlockFor } from './wrapped-keys.ts'

export interface Written {
  readonly bytes: number
  readonly files: number
  readonly rows: number
}

/**
 * Writes a backup into a new file and reads it back. Until that is done the file has another name.
 * @throws StartupError when there is such a file, or what was written cannot be read
 */
export async function writeBackup(
  options: CollectOptions,
  recipients: Recipients,
  path: string,
): Promise<Written> {
  if (existsSync(path)) throw new StartupError(`${path} is there already: a backup overwrites nothing`)
  const part = `${path}.part`
  try {
    const file = await open(part, 'w', 0o600)
    let bytes = 0
    const own = unlockFor(recipients)
    try {
      for await (const chunk of sealStream(compressedLines(collect(options)), own.recipients)) {
        await file.writeFile(chunk)
        bytes += chunk.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    const found = await readBack(part, own)
    renameSync(part, path)
    return { bytes, ...found }
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  }
}

/** @throws BackupRefused when it is not whole */
async function readBack(path: string, { unlock }: ReturnType<typeof unlockFor>) {
  let files = 0
  let rows = 0
  let ended = false
  for await (const line of linesIn(openStream(createReadStream(path), unlock))) {
    if (line.kind === 'file' && line.first) files += 1
    if (line.kind === 'rows') rows += line.rows.length
    ended = line.kind === 'end' && line.files === files && line.rows === rows
  }
  if (!ended)
    throw new BackupRefused(`${path} could not be read back as it was written: is the disk in order?`)
  return { files, rows }
}
