import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Of SQLite, whose errors carry a number, not the name of the system's error. */
const [sqliteIoError, sqliteFull] = [10, 13]
/** SQLite has an I/O error where the index of its log finds no room: less than this is left, then. */
const indexBytes = 32 * 1024

/**
 * Says that a write failed for want of room, where, and how much there is: `no space is left on the disk of /srv/warder
 * (12 KiB free)`.
 * @param path file or folder that was written, absolute or from the working directory
 * @returns undefined when the error is about something else
 */
export function describeFullDisk(error: unknown, path: string): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  const folder = findExistingFolder(resolve(path))
  if (code === 'EDQUOT') return `the quota of this user on the disk of ${folder} is used up`
  if (code === 'EFBIG')
    return `a file in ${folder} would be larger than this process (ulimit -f) or the file system allows`
  const kind = typeof errcode === 'number' ? errcode & 0xff : undefined
  const { bytes, inodes } = readFreeSpace(folder)
  const isFull = code === 'ENOSPC' || kind === sqliteFull || (kind === sqliteIoError && bytes < indexBytes)
  if (!isFull) return undefined
  const room = inodes === 0 ? 'all its inodes are used' : `${Math.floor(bytes / 1024)} KiB free`
  return `no space is left on the disk of ${folder}${Number.isNaN(bytes) ? '' : ` (${room})`}`
}

/** The system's words for an error, or that the disk is full. */
export function describeWriteError(error: unknown, path: string): string {
  return describeFullDisk(error, path) ?? (error instanceof Error ? error.message : String(error))
}

function findExistingFolder(path: string): string {
  const folder = dirname(path)
  return folder === path || existsSync(folder) ? folder : findExistingFolder(folder)
}

/** Room on the disk of a folder, as far as it is known; for this user. */
function readFreeSpace(folder: string): { readonly bytes: number; readonly inodes: number | undefined } {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder)
    // Some file systems count no inodes.
    return { bytes: bavail * bsize, inodes: files > 0 ? ffree : undefined }
  } catch {
    return { bytes: Number.NaN, inodes: undefined }
  }
}
