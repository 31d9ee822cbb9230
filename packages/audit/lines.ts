import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import {
  type Damage,
  isCompressedName,
  isEncryptedName,
  type LogKeys,
  noLogKeys,
  readBlocks,
  readPlaintext,
} from './encrypted-bytes.ts'

export interface Line {
  /** Of a damaged block of an encrypted file: its bytes as they are. */
  readonly bytes: Buffer
  /** Offset of the line in the file; in an encrypted file, the offset of its block. */
  readonly at: number
  /**
   * Offset at which reading continues: after the line, or at the block of an encrypted file that contains it
   * and others.
   */
  readonly next: number
  /** It ends with a newline, or is longer than any record. */
  readonly whole: boolean
  /** Of an encrypted file: nothing can be read from here on. */
  readonly damage?: Damage
}

export interface ReadOptions {
  /** Offset of the beginning of a line or a block. */
  readonly from?: number
  /** For encrypted files. */
  readonly keys?: LogKeys | undefined
}

const maxLineBytes = 1_048_576
const chunkBytes = 1_048_576

/**
 * Lines of a log file, of an archived file unchanged: split only at the newline byte. The last may lack its
 * end.
 * @throws StartupError when the key of an encrypted file is not given
 */
export async function* readLines(path: string, options: ReadOptions = {}): AsyncGenerator<Line> {
  const { from = 0, keys = noLogKeys } = options
  if (isEncryptedName(path) && !isCompressedName(path)) {
    yield* readEncryptedLines(path, keys, from)
    return
  }
  let rest: Buffer = Buffer.alloc(0)
  let at = from
  for await (const chunk of readBytes(path, options)) {
    const bytes: Buffer = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      yield { bytes: bytes.subarray(start, end), at: at + start, next: at + end + 1, whole: true }
      start = end + 1
    }
    at += start
    rest = Buffer.from(bytes.subarray(start))
    if (rest.length > maxLineBytes) break
  }
  if (rest.length > 0) yield { bytes: rest, at, next: at, whole: rest.length > maxLineBytes }
}

/** Every line lies within one block, unless it is longer than any record. */
async function* readEncryptedLines(path: string, keys: LogKeys, from: number): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let restAt = from
  for await (const { at, next, bytes: block, damage } of readBlocks(path, keys, from)) {
    if (damage !== undefined) {
      yield { bytes: block, at, next: at, whole: false, damage }
      return
    }
    const bytes = rest.length === 0 ? block : Buffer.concat([rest, block])
    let lineAt = rest.length === 0 ? at : restAt
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      const line = bytes.subarray(start, end)
      start = end + 1
      yield { bytes: line, at: lineAt, next: start === bytes.length ? next : at, whole: true }
      lineAt = at
    }
    rest = bytes.subarray(start)
    restAt = lineAt
    if (rest.length > maxLineBytes) break
  }
  if (rest.length > 0) yield { bytes: rest, at: restAt, next: restAt, whole: rest.length > maxLineBytes }
}

/** SHA-256 and length of a file as it is on disk. */
export async function computeStoredDigest(
  path: string,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const digest = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) {
    digest.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { bytes, sha256: digest.digest('hex') }
}

/** The bytes of a log file as it was written. @param options.from how many are left out */
export async function* readBytes(
  path: string,
  { from = 0, keys = noLogKeys }: ReadOptions = {},
): AsyncGenerator<Uint8Array> {
  const encrypted = isEncryptedName(path)
  if (!isCompressedName(path)) {
    if (encrypted) yield* readPlaintext(path, keys)
    else yield* createReadStream(path, { start: from, highWaterMark: chunkBytes })
    return
  }
  const whole = createZstdDecompress({ chunkSize: chunkBytes })
  const stored = encrypted
    ? Readable.from(readPlaintext(path, keys))
    : createReadStream(path, { highWaterMark: chunkBytes })
  // The reader of the stream receives errors of the file.
  pipeline(stored, whole, () => undefined)
  let skip = from
  for await (const chunk of whole as AsyncIterable<Uint8Array>) {
    const left = chunk.subarray(Math.min(skip, chunk.length))
    skip -= chunk.length - left.length
    if (left.length > 0) yield left
  }
}
