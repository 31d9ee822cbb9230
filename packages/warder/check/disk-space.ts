import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { getDatabaseBytes } from '@warder/foundation/sql'

/**
 * Warns of a disk that may be too small for an upgrade of a database of SQLite: a migration that writes a table anew needs
 * the room of that table in the log, and once more in the file.
 * @param path of the database
 */
export function warnOfDiskSpace(path: string): string | undefined {
  const folder = dirname(path)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const size = getDatabaseBytes(path)
  if (free >= 2 * size) return undefined
  return `${path} has ${formatKib(size)} and its disk ${formatKib(free)} free: an upgrade may need twice the size of the database. One that finds no room is begun again when there is some`
}

const formatKib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`
