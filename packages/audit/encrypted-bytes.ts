import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { readTail } from './folder.ts'

/**
 * Format of an encrypted log file on disk. A header: `WARDAUD1` | id of the log key (16) | salt (32); then
 * blocks: length of the plaintext (4, big-endian) | IV (12) | ciphertext | tag (16). AES-256-GCM (SP 800-38D)
 * under a key of the file, HKDF-SHA-256 (RFC 5869) of log key and salt. The additional data of a block is its
 * offset in the file, so that blocks cannot change places. IVs are random: a block that was cut off again is
 * never written with the same one.
 */

/** Keys of encrypted files, by the hexadecimal id in their headers. */
export type LogKeys = ReadonlyMap<string, KeyObject>

/** The key that new files are encrypted by. */
export interface LogKey {
  readonly id: string
  readonly key: KeyObject
}

export const noLogKeys: LogKeys = new Map()

const magic = Buffer.from('WARDAUD1')
const idBytes = 16
const saltBytes = 32
const headerBytes = magic.length + idBytes + saltBytes
const ivBytes = 12
const tagBytes = 16
const lengthBytes = 4
const overhead = lengthBytes + ivBytes + tagBytes
/** A block ends with the last line that fits. */
const defaultBlockBytes = 1_048_576
const maxBlockBytes = 2 * defaultBlockBytes
const info = 'warder audit file 1'

/** Whether a file is encrypted by its name, also after it was set aside. */
export function isEncryptedName(path: string): boolean {
  return /\.jsonl(?:\.zst)?\.enc(?:\.broken-[^/]*)?$/.test(path)
}

/** Whether a file is archived by its name. */
export function isCompressedName(path: string): boolean {
  return /\.jsonl\.zst(?:\.enc)?$/.test(path)
}

/** Encrypts the blocks that are appended to one file. */
export interface FileCipher {
  readonly header: Buffer
  /** Encrypts bytes into blocks at an offset of the file. */
  blocks(bytes: Uint8Array, at: number): Buffer
}

export function beginFileCipher({ id, key }: LogKey): FileCipher {
  return createFileCipher(Buffer.concat([magic, Buffer.from(id, 'hex'), randomBytes(saltBytes)]), key)
}

/** The cipher of an existing file. @throws StartupError when its key is not in `keys` */
export function readFileCipher(path: string, keys: LogKeys): FileCipher {
  const header = readHeader(path)
  if (header === undefined)
    throw new DamagedFile(`${path} does not have the header of an encrypted audit file`)
  return createFileCipher(header, requireLogKey(path, header, keys))
}

function createFileCipher(header: Buffer, logKey: KeyObject): FileCipher {
  const key = deriveFileKey(header, logKey)
  return {
    header,
    blocks(bytes, at) {
      const parts: Buffer[] = []
      let next = at
      for (const piece of pieces(bytes)) {
        const part = encryptBlock(key, piece, next)
        parts.push(part)
        next += part.length
      }
      return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
    },
  }
}

/** Splits bytes at line ends, so that no block ends within a line, unless the line is longer than a block. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  let rest = bytes
  while (rest.length > defaultBlockBytes) {
    const end = rest.subarray(0, defaultBlockBytes).lastIndexOf(10) + 1
    const length = end === 0 ? defaultBlockBytes : end
    yield rest.subarray(0, length)
    rest = rest.subarray(length)
  }
  yield rest
}

function encryptBlock(key: KeyObject, bytes: Uint8Array, at: number): Buffer {
  const out = Buffer.allocUnsafe(bytes.length + overhead)
  out.writeUInt32BE(bytes.length)
  const iv = randomBytes(ivBytes)
  iv.copy(out, lengthBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
  cipher.setAAD(encodeOffset(at))
  cipher.update(bytes).copy(out, lengthBytes + ivBytes)
  cipher.final()
  cipher.getAuthTag().copy(out, out.length - tagBytes)
  return out
}

function encodeOffset(at: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(at))
  return bytes
}

function deriveFileKey(header: Buffer, logKey: KeyObject): KeyObject {
  const bytes = Buffer.from(hkdfSync('sha256', logKey, header.subarray(magic.length + idBytes), info, 32))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return key
}

/** The reason why an encrypted file cannot be read beyond a place. */
export type Damage =
  /** The last block has no end, as after a crash. */
  | 'torn'
  /** Bytes that are zero, as after a power cut. */
  | 'hole'
  /** It was changed, or stood elsewhere. */
  | 'changed'

export interface Block {
  /** Offsets of the block and of the next block. */
  readonly at: number
  readonly next: number
  /** Plaintext; of a damaged block its bytes as they are. */
  readonly bytes: Buffer
  readonly damage?: Damage
}

/** A file whose content does not match its name. */
export class DamagedFile extends Error {}

/**
 * Reads the blocks of a file in order, up to the first damaged one, which is included.
 * @param from beginning of a block; 0 = the first one
 * @throws StartupError when the key of the file is not among these
 */
export async function* readBlocks(path: string, keys: LogKeys, from = 0): AsyncGenerator<Block> {
  const header = readHeader(path)
  if (header === undefined) {
    const bytes = readTail(path, 0)
    const short = bytes.length < headerBytes && (bytes.length === 0 || hasMagic(bytes))
    if (bytes.length > 0) yield { at: 0, next: 0, bytes, damage: short ? 'torn' : detectDamage(path, 0) }
    return
  }
  const key = deriveFileKey(header, requireLogKey(path, header, keys))
  let at = Math.max(from, headerBytes)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { start: at, highWaterMark: defaultBlockBytes })) {
    rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    for (;;) {
      if (rest.length < lengthBytes) break
      const length = rest.readUInt32BE()
      if (length === 0 || length > maxBlockBytes) {
        yield { at, next: at, bytes: rest, damage: detectDamage(path, at) }
        return
      }
      const end = length + overhead
      if (rest.length < end) break
      const bytes = decryptBlock(key, rest.subarray(0, end), at)
      if (bytes === undefined) {
        yield { at, next: at, bytes: rest.subarray(0, end), damage: detectDamage(path, at) }
        return
      }
      yield { at, next: at + end, bytes }
      at += end
      rest = rest.subarray(end)
    }
  }
  if (rest.length > 0) yield { at, next: at, bytes: rest, damage: 'torn' }
}

/** The plaintext of an encrypted file. @throws DamagedFile, StartupError */
export async function* readPlaintext(path: string, keys: LogKeys): AsyncGenerator<Buffer> {
  for await (const { at, bytes, damage } of readBlocks(path, keys)) {
    if (damage !== undefined) throw new DamagedFile(`${path} is damaged at offset ${at}`)
    yield bytes
  }
}

/** Encrypts a stream into a new file's bytes. */
export async function* encryptStream(
  chunks: AsyncIterable<Uint8Array>,
  logKey: LogKey,
): AsyncGenerator<Buffer> {
  const { header, blocks } = beginFileCipher(logKey)
  yield header
  let at = header.length
  for await (const chunk of chunks) {
    const bytes = blocks(chunk, at)
    at += bytes.length
    yield bytes
  }
}

/** The key of `keys` that a file is encrypted with. */
export function findLogKey(path: string, keys: LogKeys): LogKey | undefined {
  const header = readHeader(path)
  const id = header === undefined ? '' : readKeyId(header)
  const key = keys.get(id)
  return key === undefined ? undefined : { id, key }
}

/** Whether `keys` contains the key of the file. */
export function canRead(path: string, keys: LogKeys): boolean {
  if (!isEncryptedName(path)) return true
  const header = readHeader(path)
  return header === undefined || keys.has(readKeyId(header))
}

function decryptBlock(key: KeyObject, sealed: Buffer, at: number): Buffer | undefined {
  const ivEnd = lengthBytes + ivBytes
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(lengthBytes, ivEnd), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(encodeOffset(at))
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes))
  const bytes = decipher.update(sealed.subarray(ivEnd, sealed.length - tagBytes))
  try {
    decipher.final()
    return bytes
  } catch {
    return undefined
  }
}

/** undefined = the file has none, or less than one. */
function readHeader(path: string): Buffer | undefined {
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(headerBytes)
    const length = readSync(file, header, 0, headerBytes, 0)
    return length === headerBytes && hasMagic(header) ? header : undefined
  } finally {
    closeSync(file)
  }
}

function hasMagic(bytes: Buffer): boolean {
  const length = Math.min(magic.length, bytes.length)
  return bytes.subarray(0, length).equals(magic.subarray(0, length))
}

function readKeyId(header: Buffer): string {
  return header.toString('hex', magic.length, magic.length + idBytes)
}

function requireLogKey(path: string, header: Buffer, keys: LogKeys): KeyObject {
  const key = keys.get(readKeyId(header))
  if (key === undefined) throw new MissingLogKey(path)
  return key
}

/** The key of an encrypted file cannot be opened. */
export class MissingLogKey extends StartupError {
  constructor(path: string) {
    super(
      `${path} is encrypted, and its key cannot be decrypted here: give the home in which it was written with --home; its root key and database are required`,
    )
  }
}

/** Maximum length of a tail with holes: more data never waits for the disk. */
const maxHoleBytes = 64 * 1_048_576
const sector = 512
const zeros = Buffer.alloc(16)

/** Ciphertext has no 16 zero bytes in a row; after a power cut whole sectors, the last of them short, may be zero. */
function detectDamage(path: string, at: number): Damage {
  const { size } = statSync(path)
  if (size - at > maxHoleBytes) return 'changed'
  const tail = readTail(path, at)
  const lastSector = tail.subarray(Math.max(0, tail.length - (size % sector)))
  const isHole = tail.includes(zeros) || (lastSector.length > 0 && lastSector.every((byte) => byte === 0))
  return isHole ? 'hole' : 'changed'
}
