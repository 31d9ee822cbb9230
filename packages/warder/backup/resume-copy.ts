import { constants, createReadStream, rmSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { StartupError } from '@warder/base'
import { hashStream } from './digest.ts'
import { isBackup, publishFile, requireNew, syncFolder } from './write.ts'

export interface CopyOptions {
  readonly signal?: AbortSignal | undefined
  /** Receives the number of copied bytes, and the total. */
  onBytes?(done: number, all: number): void
}

const pieceBytes = 1024 * 1024

/**
 * Copies a complete backup to its target and reads it back. Resumes after the bytes that an interrupted copy of the same
 * backup left; two concurrent copies write the same bytes at the same offsets.
 * @param spool the backup
 * @param path a file that must not exist; until the copy is complete it is named `PATH.arriving`
 * @returns its SHA-256, in lower-case hexadecimal digits
 * @throws StartupError when the file exists, or reads back differently
 */
export async function resumeCopy(spool: string, path: string, options: CopyOptions = {}): Promise<string> {
  requireNew(path)
  const part = `${path}.arriving`
  const source = await open(spool, 'r')
  try {
    const target = await open(part, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
    try {
      await requireBackup(part, await target.stat())
      await copyRest(source, target, options)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
  const [wanted, found] = [await computeDigest(spool), await computeDigest(part)]
  if (wanted !== found)
    throw new StartupError(
      `${part} reads back differently than it was written: check the disk, then remove this file and start again`,
    )
  publishFile(part, path)
  rmSync(part, { force: true })
  await syncFolder(dirname(resolve(path)))
  return found
}

async function requireBackup(part: string, found: Stats): Promise<void> {
  if (!found.isFile() || !isBackup(part))
    throw new StartupError(`${part} exists and is not part of a backup: move it away`)
}

async function copyRest(
  source: FileHandle,
  target: FileHandle,
  { signal, onBytes }: CopyOptions,
): Promise<void> {
  const { size } = await source.stat()
  const piece = Buffer.alloc(pieceBytes)
  for (let at = await findCommonLength(source, target); at < size; ) {
    signal?.throwIfAborted()
    onBytes?.(at, size)
    const { bytesRead } = await source.read(piece, 0, pieceBytes, at)
    if (bytesRead === 0) throw new StartupError('the backup was truncated while it was copied')
    for (let written = 0; written < bytesRead; ) {
      const { bytesWritten } = await target.write(piece, written, bytesRead - written, at + written)
      written += bytesWritten
    }
    at += bytesRead
  }
  await target.truncate(size)
  await target.sync()
}

/** Length of the common prefix of two files, in whole pieces. */
async function findCommonLength(one: FileHandle, other: FileHandle): Promise<number> {
  const [ours, theirs] = [Buffer.alloc(pieceBytes), Buffer.alloc(pieceBytes)]
  for (let at = 0; ; at += pieceBytes) {
    const reads = await Promise.all([
      one.read(ours, 0, pieceBytes, at),
      other.read(theirs, 0, pieceBytes, at),
    ])
    if (reads.some(({ bytesRead }) => bytesRead < pieceBytes) || !ours.equals(theirs)) return at
  }
}

async function computeDigest(path: string): Promise<string> {
  const { bytes, digest } = hashStream(createReadStream(path))
  for await (const _ of bytes);
  return digest()
}
