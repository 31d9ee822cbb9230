import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type LogKeys, readClosedHead, tailAudit } from '@warder/audit'
import { StartupError } from '@warder/base'
import type { AuditHead, BackupLine } from './lines.ts'

const partBytes = 512 * 1024

/**
 * Reads the files of a home as lines. A file that is being written is read up to its size at that moment.
 * @param isKept filter on the absolute path, called before a file is opened
 */
export async function* readFileLines(
  home: string,
  isKept: (path: string) => boolean,
): AsyncGenerator<BackupLine> {
  for (const path of listFiles(home).filter(isKept)) {
    const { mode, size } = statSync(path)
    const common = { kind: 'file', path: relative(home, path), mode: mode & 0o777 } as const
    let first = true
    if (size > 0)
      for await (const part of createReadStream(path, { end: size - 1, highWaterMark: partBytes })) {
        yield { ...common, first, data: (part as Buffer).toString('base64') }
        first = false
      }
    if (first) yield { ...common, first, data: '' }
  }
}

/** Lists the files below a folder, without links and sockets. */
function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/**
 * Reads the head of a log; null: it has no records.
 * @param readKeys reads the keys of an encrypted log; if it fails, the head is that of the last closed file, because a
 *   backup must not need the root key
 */
export async function readAuditHead(
  folder: string,
  readKeys: (folder: string) => Promise<LogKeys>,
): Promise<AuditHead | null> {
  if (!existsSync(folder)) return null
  const keys = await readKeys(folder).catch((error: unknown) => {
    if (error instanceof StartupError) return undefined
    throw error
  })
  if (keys === undefined) return readClosedHead(folder) ?? null
  for await (const line of tailAudit({ folder, keys, format: 'json', lines: 1 })) {
    const { seq, hash } = JSON.parse(line) as AuditHead
    return { seq, hash }
  }
  return null
}
