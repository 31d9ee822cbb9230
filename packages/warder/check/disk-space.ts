import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { getDatabaseBytes } from '@warder/storage'

/**
 * Warns if the disk may be too small to upgrade a SQLite database: a migration that rewrites a table needs its size twice,
 * in the write-ahead log and in the file.
 * @param path of the database
 */
export function warnOfDiskSpace(path: string): string | undefined {
  const folder = dirname(path)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const size = getDatabaseBytes(path)
  if (free >= 2 * size) return undefined
  return `${path} has ${formatKib(size)} and its disk ${formatKib(free)} free: an upgrade may need twice the size of the database. If the disk is full, free some space and start again`
}

const formatKib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`
