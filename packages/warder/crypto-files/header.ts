import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { FileRefused } from '@warder/command-line/files'
import type { Fill } from './read.ts'
import { createBrokenHeaderError, formatWrappedKey, parseWrappedKey, type WrappedKey } from './wrapped-key.ts'

/**
 * The byte after the magic. 1: written before wrapped keys could be replaced. 2: the current format. 3: a file of format 1
 * whose wrapped key was replaced, so that its header MAC cannot be verified any more.
 */
type Format = 1 | 2 | 3

/** Version in the labels of the derived keys. They do not change when the wrapped key is replaced. */
const derivation: Readonly<Record<Format, 'v1' | 'v2'>> = { 1: 'v1', 2: 'v2', 3: 'v1' }

export interface Header {
  readonly format: Format
  readonly wrapped: WrappedKey
  /** First bytes of every nonce of the file. */
  readonly prefix: Buffer
  /** Everything before the binding. */
  readonly bytes: Buffer
  /** Authentication code of the original header: additional data of each chunk. */
  readonly binding: Buffer
}

/** Keys derived from a file's data key. */
export interface FileKeys {
  readonly chunks: Buffer
  readonly header: Buffer
  wipe(): void
}

export const dataKeyBytes = 32
export const prefixBytes = 7

const magic = Buffer.from('WARDERF', 'latin1')
const prefixAt = magic.length + 1
const lengthAt = prefixAt + prefixBytes
const fixedBytes = lengthAt + 4
const macBytes = 32
const maxWrappedKeyBytes = 16 * 1024

/** Keys for the chunks and for the header, from the data key (HKDF-SHA-256, RFC 5869). */
export function deriveKeys(dataKey: Uint8Array, format: Format = 2): FileKeys {
  const derive = (purpose: string) =>
    Buffer.from(
      hkdfSync('sha256', dataKey, Buffer.alloc(0), `warder file ${derivation[format]} ${purpose}`, 32),
    )
  const keys = { chunks: derive('chunks'), header: derive('header') }
  return {
    ...keys,
    wipe() {
      keys.chunks.fill(0)
      keys.header.fill(0)
    },
  }
}

/** Creates a header with its authentication code (HMAC-SHA-256) at the end. */
export function writeHeader(wrapped: WrappedKey, prefix: Buffer, keys: FileKeys): Header {
  const bytes = encodeHeader(2, prefix, wrapped)
  return { format: 2, wrapped, prefix, bytes, binding: computeMac(bytes.subarray(0, lengthAt), keys) }
}

/** The same header with another encryption of the same data key: the chunks stay as they are. */
export function replaceWrappedKey({ format, prefix, binding }: Header, wrapped: WrappedKey): Header {
  const next = format === 1 ? 3 : format
  return { format: next, wrapped, prefix, bytes: encodeHeader(next, prefix, wrapped), binding }
}

function encodeHeader(format: Format, prefix: Buffer, wrapped: WrappedKey): Buffer {
  const json = Buffer.from(formatWrappedKey(wrapped), 'utf8')
  if (json.length > maxWrappedKeyBytes)
    throw new FileRefused('the policy has too many alternatives for a file')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.length)
  return Buffer.concat([magic, Buffer.from([format]), prefix, length, json])
}

/**
 * Reads the header at the start of a file. It is not authenticated before `verifyHeader`.
 * @throws FileRefused when it is not a header of this format
 */
export async function readHeader(fill: Fill): Promise<Header> {
  const start = Buffer.alloc(fixedBytes)
  const found = await fill(start)
  if (found < prefixAt || !start.subarray(0, magic.length).equals(magic)) {
    throw new FileRefused('this is not a file of warder crypto encrypt')
  }
  const format = start.readUInt8(magic.length)
  if (format !== 1 && format !== 2 && format !== 3)
    throw new FileRefused('the file has a newer format: use a newer version of warder')
  if (found < fixedBytes) throw createTruncatedError()
  const length = start.readUInt32BE(lengthAt)
  if (length > maxWrappedKeyBytes) throw createBrokenHeaderError()
  const rest = Buffer.alloc(length + macBytes)
  if ((await fill(rest)) < rest.length) throw createTruncatedError()
  const json = rest.subarray(0, length)
  const text = json.toString('utf8')
  const wrapped = parseWrappedKey(text)
  // In formats 2 and 3 no MAC covers the wrapped key, so its encoding must be canonical.
  if (format !== 1 && formatWrappedKey(wrapped) !== text) throw createBrokenHeaderError()
  return {
    format,
    wrapped,
    prefix: start.subarray(prefixAt, lengthAt),
    bytes: Buffer.concat([start, json]),
    binding: rest.subarray(length),
  }
}

/**
 * Format 3 has nothing to verify here, because its MAC covers the replaced wrapped key. In every format the
 * chunks are bound to the MAC, the prefix and the data key.
 * @throws FileRefused when the header was not written by the holder of the data key
 */
export function verifyHeader({ format, bytes, binding }: Header, keys: FileKeys): void {
  if (format === 3) return
  const covered = format === 1 ? bytes : bytes.subarray(0, lengthAt)
  if (!timingSafeEqual(computeMac(covered, keys), binding)) {
    throw new FileRefused('the header of the file was changed')
  }
}

function computeMac(bytes: Uint8Array, keys: FileKeys): Buffer {
  return createHmac('sha256', keys.header).update(bytes).digest()
}

function createTruncatedError(): FileRefused {
  return new FileRefused('the file is truncated within its header: copy it again from an intact source')
}
