import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { FileRefused } from '@warder/command-line/files'
import { writeAtomically } from './atomic-file.ts'
import { type Header, readHeader } from './header.ts'
import { openToChange } from './open-file.ts'
import { fillFrom, readPieces } from './read.ts'
import { createFileSink } from './write.ts'

/**
 * Size that a disk writes atomically, even in a power failure. PostgreSQL relies on the same for `pg_control`
 * (PG_CONTROL_MAX_SAFE_SIZE).
 */
const sectorBytes = 512
const copyBytes = 1024 * 1024

export interface ReplaceOptions {
  readonly signal?: AbortSignal | undefined
  /** Receives the number of copied bytes. */
  readonly onProgress?: (done: number) => void
}

/**
 * Replaces the header of a file; its chunks, mode and owner stay. After a crash at any moment the file has either the old
 * or the new header. A header of the same length within the first sector is overwritten in place; otherwise the file is
 * copied.
 * @param before the header from `readHeader`: a file with another header is refused
 * @returns whether the header was overwritten or the file was copied
 * @throws FileRefused
 */
export async function replaceHeader(
  path: string,
  before: Header,
  after: Header,
  options: ReplaceOptions = {},
): Promise<'in place' | 'copied'> {
  await using file = await openToChange(path)
  const found = await readHeader(fillFrom(file))
  if (!serializeHeader(found).equals(serializeHeader(before)))
    throw new FileRefused(`${path} was changed meanwhile: nothing was written`)
  const [old, fresh] = [serializeHeader(before), serializeHeader(after)]
  if (old.length === fresh.length && fresh.length <= sectorBytes) {
    await overwrite(file, old, fresh)
    return 'in place'
  }
  await rewrite(path, file, fresh, options)
  return 'copied'
}

function serializeHeader({ bytes, binding }: Header): Buffer {
  return Buffer.concat([bytes, binding])
}

async function overwrite(file: FileHandle, old: Buffer, fresh: Buffer): Promise<void> {
  try {
    await writeStart(file, fresh)
  } catch (error) {
    // A copy-on-write file system may be full; the old bytes may still fit.
    await writeStart(file, old).catch(() => undefined)
    throw error
  }
  await file.sync()
}

async function writeStart(file: FileHandle, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await file.write(bytes, 0, bytes.length, 0)
  if (bytesWritten !== bytes.length) throw new FileRefused('only a part of the header was written')
}

async function rewrite(
  path: string,
  file: FileHandle,
  fresh: Buffer,
  options: ReplaceOptions,
): Promise<void> {
  const { signal } = options
  const stat = await file.stat()
  if (stat.nlink > 1)
    throw new FileRefused(
      `${path} has ${stat.nlink} hard links, and the new header does not fit in place: copy the file and rewrap the copy`,
    )
  await writeAtomically(path, { overwrite: true, signal }, async (copy) => {
    await copyChunks(file, copy, fresh, options)
    await copyOwnerAndMode(path, copy, stat)
  })
}

/** @param file positioned after its header */
async function copyChunks(
  file: FileHandle,
  copy: FileHandle,
  fresh: Buffer,
  { signal, onProgress }: ReplaceOptions,
): Promise<void> {
  const sink = createFileSink(copy)
  await sink.write([fresh])
  let done = fresh.length
  for await (const { bytes } of readPieces(fillFrom(file), copyBytes)) {
    signal?.throwIfAborted()
    await sink.write([bytes])
    done += bytes.length
    onProgress?.(done)
  }
  await sink.end()
}

/** Changes the owner first, because that clears some bits of the mode. */
async function copyOwnerAndMode(path: string, copy: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await copy.stat()
  if (now.uid !== uid || now.gid !== gid)
    await copy.chown(uid, gid).catch((error: unknown) => {
      throw new FileRefused(`${path} belongs to another user: run this as its owner or root`, {
        cause: error,
      })
    })
  await copy.chmod(mode & 0o7777)
}
