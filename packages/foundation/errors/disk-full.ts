import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** SQLITE_FULL: its errors carry a number, not the name of the system's error. */
const sqliteFull = 13

/**
 * Says that a write failed for want of room, where, and how much there is: `no space is left on the disk of /srv/warder
 * (12 KiB free)`.
 * @param path file or folder that was written, absolute or from the working directory
 * @returns undefined when the error is about something else
 */
export function diskFull(error: unknown, path: string): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  const folder = nearestFolder(resolve(path))
  if (code === 'EDQUOT') return `the quota of this user on the disk of ${folder} is used up`
  if (code === 'EFBIG')
    return `a file in ${folder} would be larger than this process (ulimit -f) or the file system allows`
  if (code !== 'ENOSPC' && !(typeof errcode === 'number' && (errcode & 0xff) === sqliteFull)) return undefined
  return `no space is left on the disk of ${folder}${roomOf(folder)}`
}

/** The system's words for an error, or that the disk is full. */
export function writeProblem(error: unknown, path: string): string {
  return diskFull(error, path) ?? (error instanceof Error ? error.message : String(error))
}

function nearestFolder(path: string): string {
  const folder = dirname(path)
  return folder === path || existsSync(folder) ? folder : nearestFolder(folder)
}

function roomOf(folder: string): string {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder)
    // Some file systems count no inodes.
    if (files > 0 && ffree === 0) return ' (all its inodes are used)'
    return ` (${Math.floor((bavail * bsize) / 1024)} KiB free)`
  } catch {
    return ''
  }
}
