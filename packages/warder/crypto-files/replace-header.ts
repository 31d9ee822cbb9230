import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { FileRefused } from '../cli/refused.ts'
import { writeAtomically } from './atomic-file.ts'
import { type Header, readHeader } from './header.ts'
import { openToChange } from './open-file.ts'
import { fillFrom, readPieces } from './read.ts'
import { createFileSink } from './write.ts'

/**
 * Size that a disk writes whole or not at all, also when the power goes. PostgreSQL relies on the same for `pg_control`
 * (PG_CONTROL_MAX_SAFE_SIZE).
 */
const sectorBytes = 512
const copyBytes = 1024 * 1024

export interface ReplaceOptions {
  readonly signal?: AbortSignal | undefined
  /** Told while a file is copied: bytes of it so far. */
  readonly onProgress?: (done: number) => void
}

/**
 * Gives a file another header; its chunks stay as they are, and so do its mode and its owner. A crash at any moment leaves
 * the file with the header of before or of after. A header of the same length that lies in the first sector is written
 * over the old one; any other file is written anew beside it.
 * @param before as `readHeader` found it: a file that has another one now is refused
 * @returns how the header was written
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
    throw new FileRefused(`${path} was changed by somebody else meanwhile: nothing was written`)
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
    // A file system that copies on writing may be full. The old bytes have a place.
    await writeStart(file, old).catch(() => undefined)
    throw error
  }
  await file.sync()
}

async function writeStart(file: FileHandle, bytes: Buffer): Promise<void> {
  const { bytesWritten } = await file.write(bytes, 0, bytes.length, 0)
  if (bytesWritten !== bytes.length) throw new FileRefused('the disk took only a part of the header')
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
      `${path} has ${stat.nlink} names (hard links), and the new header does not fit in its place`,
    )
  await writeAtomically(path, { overwrite: true, signal }, async (copy) => {
    await copyChunks(file, copy, fresh, options)
    await copyOwnerAndMode(path, copy, stat)
  })
}

/** @param file read to the end of its header */
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

/** Owner first: a change of it takes some bits of the mode away. */
async function copyOwnerAndMode(path: string, copy: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await copy.stat()
  if (now.uid !== uid || now.gid !== gid)
    await copy.chown(uid, gid).catch((error: unknown) => {
      throw new FileRefused(`${path} belongs to somebody else: its owner or root can replace its header`, {
        cause: error,
      })
    })
  await copy.chmod(mode & 0o7777)
}
