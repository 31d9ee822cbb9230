import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { takeLock } from '@warder/base'

const pattern = /^audit-(\d{16})\.jsonl(?:\.enc)?$/

/** Log files in order; the name contains the `seq` of the first record. */
export function listLogFiles(
  folder: string,
): readonly { readonly path: string; readonly firstSeq: number }[] {
  return readdirSync(folder)
    .map((name) => ({ name, match: pattern.exec(name) }))
    .filter(({ match }) => match !== null)
    .map(({ name, match }) => ({ path: join(folder, name), firstSeq: Number(match?.[1]) }))
    .sort((a, b) => a.firstSeq - b.firstSeq)
}

/** Every file of a log: those with records, as they are or compressed, and the checkpoints. */
export function listAllFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => /^audit-\d{16}\.(?:jsonl(?:\.zst)?(?:\.enc)?|checkpoint)$/.test(name))
    .sort()
    .map((name) => join(folder, name))
}

/** The record number in a file name, also of a file that was set aside; undefined: another kind of name. */
export function parseFirstSeq(path: string): number | undefined {
  const match = /^audit-(\d{16})\.jsonl(?:\.zst)?(?:\.enc)?(?:\.broken-.+)?$/.exec(basename(path))
  return match === null ? undefined : Number(match[1])
}

export function formatLogFileName(folder: string, firstSeq: number, encrypted = false): string {
  return join(folder, `audit-${String(firstSeq).padStart(16, '0')}.jsonl${encrypted ? '.enc' : ''}`)
}

/** Renames the files of a broken log. @returns the new names and their SHA-256 */
export async function setAside(
  paths: readonly string[],
  stamp: string,
): Promise<readonly { readonly file: string; readonly sha256: string }[]> {
  const sealed: { file: string; sha256: string }[] = []
  for (const path of paths) {
    const digest = createHash('sha256')
    for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
    const name = formatAsideName(path, stamp)
    renameSync(path, name)
    sealed.push({ file: name.slice(name.lastIndexOf('/') + 1), sha256: digest.digest('hex') })
  }
  return sealed
}

/** The bytes of a file from `at` on. */
export function readTail(path: string, at: number): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY)
  try {
    const tail = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - at))
    let read = 0
    while (read < tail.length) {
      const some = readSync(descriptor, tail, read, tail.length - read, at + read)
      if (some === 0) break
      read += some
    }
    return tail.subarray(0, read)
  } finally {
    closeSync(descriptor)
  }
}

/** Writes the bytes that are cut off a log file to a file beside it. @returns its path, once it is on disk */
export function keepTail(path: string, tail: Uint8Array, stamp: string): string {
  const kept = `${path}.torn-${stamp}`
  writeFileSync(kept, tail, { mode: 0o600, flush: true })
  return kept
}

/** Reverts `setAside`. */
export function putBack(paths: readonly string[], stamp: string): void {
  for (const path of paths) renameSync(formatAsideName(path, stamp), path)
}

function formatAsideName(path: string, stamp: string): string {
  return `${path}.broken-${stamp}`
}

export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Ensures that only this process writes the log. @throws StartupError when another one does */
export function lockFolder(folder: string): () => void {
  return takeLock(
    join(folder, 'writer.lock'),
    (pid) =>
      `the audit folder ${folder} is being written by process ${pid}: the service is probably already running`,
  )
}
