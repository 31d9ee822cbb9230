import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { canRead, isEncryptedName, type LogKeys, noLogKeys } from './encrypted-bytes.ts'
import { listLogFiles } from './folder.ts'
import { readLines } from './lines.ts'

/** Operation of the records with the database's number of commits (docs/adr/rollback-detection.md). */
export const commitsOperation = 'database.commits'

/** Facts in a service's log about its database. */
export interface KnownCommits {
  /** It has records: the service has run, and its database was not empty. */
  readonly used: boolean
  /** Commits that the database had, durably, when the last such record was made; undefined = there is none. */
  readonly commits: number | undefined
  /** Its newest records are encrypted, and their key was not given. */
  readonly unread: boolean
}

const chunkBytes = 1_048_576
/** Longer than any record of this operation. */
const overlapBytes = 8192
const commitsMarker = Buffer.from(`"operation":"${commitsOperation}"`)

/** Reads the log backwards before it is opened, without changing it; it may be damaged. */
export async function readKnownCommits(folder: string, keys: LogKeys = noLogKeys): Promise<KnownCommits> {
  if (!existsSync(folder)) return { used: false, commits: undefined, unread: false }
  let used = false
  for (const { path } of listLogFiles(folder).toReversed()) {
    used ||= statSync(path).size > 0
    if (!canRead(path, keys)) return { used, commits: undefined, unread: true }
    const commits = isEncryptedName(path) ? await readCommitsInLines(path, keys) : readLastCommits(path)
    if (commits !== undefined) return { used, commits, unread: false }
  }
  return { used, commits: undefined, unread: false }
}

/** Reads an encrypted file, from its beginning. */
async function readCommitsInLines(path: string, keys: LogKeys): Promise<number | undefined> {
  let last: number | undefined
  for await (const { bytes, whole } of readLines(path, { keys })) {
    if (!whole) break
    if (bytes.includes(commitsMarker)) last = parseCommits(bytes.toString('utf8')) ?? last
  }
  return last
}

/** The last number of commits in a file. */
function readLastCommits(path: string): number | undefined {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const buffer = Buffer.alloc(Math.min(size, chunkBytes + overlapBytes))
    for (let end = size; end > 0; end -= chunkBytes) {
      const start = Math.max(0, end - chunkBytes)
      const length = readSync(file, buffer, 0, Math.min(buffer.length, size - start), start)
      const commits = findLastCommits(buffer.subarray(0, length))
      if (commits !== undefined) return commits
    }
    return undefined
  } finally {
    closeSync(file)
  }
}

/** Ignores a torn line: it was never acknowledged, and is cut off when the log is opened. */
function findLastCommits(bytes: Buffer): number | undefined {
  for (
    let at = bytes.lastIndexOf(commitsMarker);
    at >= 0;
    at = at === 0 ? -1 : bytes.lastIndexOf(commitsMarker, at - 1)
  ) {
    const start = bytes.lastIndexOf(10, at) + 1
    const end = bytes.indexOf(10, at)
    const commits = end < 0 ? undefined : parseCommits(bytes.toString('utf8', start, end))
    if (commits !== undefined) return commits
  }
  return undefined
}

/** Checks the member of the record itself: details of another record may contain the same text. */
function parseCommits(line: string): number | undefined {
  try {
    const record = JSON.parse(line) as { operation?: unknown; details?: { commits?: unknown } }
    const commits = record.details?.commits
    return record.operation === commitsOperation && Number.isSafeInteger(commits)
      ? Number(commits)
      : undefined
  } catch {
    return undefined
  }
}
