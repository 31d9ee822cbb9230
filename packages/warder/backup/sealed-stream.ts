import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto'
import { BackupRefused } from './lines.ts'
import type { RequireSender } from './sender.ts'
import { type Recipients, type Unlock, unwrap, type WrappedKey, wrapForRecipients } from './wrapped-keys.ts'

// Layout of a backup: a line of JSON with the parameters of the key and the public key of the sender, its authentication
// code, a signature over both, then chunks (STREAM, as in docs/reference/file-format.md), each with its signature, so that
// a recipient, who has the key of the chunks, cannot change them either. Version 1 had no signatures.

const format = 'warder-backup'
const version = 2
const unsignedVersion = 1
const chunkBytes = 1024 * 1024
const tagBytes = 16
const prefixBytes = 7
const macBytes = 32
const signatureBytes = 64
const maxHeaderBytes = 64 * 1024

/** First bytes of every backup. */
export const firstBytes = Buffer.from(`{"format":"${format}"`)

interface Header {
  readonly format: typeof format
  readonly version: typeof version | typeof unsignedVersion
  readonly prefix: string
  readonly keys: readonly WrappedKey[]
  /** Ed25519 (RFC 8032), SubjectPublicKeyInfo in base64url: the installation that made the backup. */
  readonly sender?: string
}

/**
 * Encrypts a stream under a new key, which is wrapped for the recipients.
 * @param signer the private key of the installation (Ed25519)
 */
export async function* sealStream(
  plain: AsyncIterable<Uint8Array>,
  recipients: Recipients,
  signer: KeyObject,
): AsyncGenerator<Uint8Array> {
  const fileKey = randomBytes(32)
  const prefix = randomBytes(prefixBytes)
  const header: Header = {
    format,
    version,
    prefix: prefix.toString('base64url'),
    keys: wrapForRecipients(recipients, fileKey),
    sender: createPublicKey(signer).export({ type: 'spki', format: 'der' }).toString('base64url'),
  }
  const line = Buffer.from(`${JSON.stringify(header)}\n`)
  const keys = deriveKeys(fileKey)
  const mac = computeMac(line, keys.header)
  const chunks = new Chunks(keys.chunks, prefix, mac)
  fileKey.fill(0)
  yield line
  yield mac
  yield sign(null, buildHeaderInput(line, mac), signer)
  let index = 0
  for await (const { bytes, last } of splitChunks(plain, chunkBytes)) {
    const sealed = chunks.seal(bytes, last)
    yield Buffer.concat([sealed, sign(null, buildChunkInput(mac, index, last, sealed), signer)])
    index += 1
  }
}

/**
 * @param requireSender called before anything is decrypted
 * @throws BackupRefused when it is not a backup, its sender is refused, the given secrets do not decrypt it, or it was
 * changed, truncated or extended
 */
export async function* openStream(
  sealed: AsyncIterable<Uint8Array>,
  unlock: Unlock,
  requireSender: RequireSender,
): AsyncGenerator<Uint8Array> {
  const source = new Source(sealed)
  const line = await source.line(maxHeaderBytes)
  const header = parseHeader(line)
  const mac = await source.take(macBytes)
  const sender = header.version === unsignedVersion ? undefined : readSender(header)
  if (sender !== undefined) {
    const signature = await source.take(signatureBytes)
    if (!verify(null, buildHeaderInput(line, mac), sender, signature))
      throw new BackupRefused('the header of the backup was changed: its signature is not valid')
  }
  await requireSender(sender)
  const fileKey = unwrap(header.keys, unlock)
  const keys = deriveKeys(fileKey)
  fileKey.fill(0)
  if (mac.length !== macBytes || !timingSafeEqual(mac, computeMac(line, keys.header)))
    throw new BackupRefused('the header of the backup was changed')
  const chunks = new Chunks(keys.chunks, Buffer.from(header.prefix, 'base64url'), mac)
  const size = chunkBytes + tagBytes + (sender === undefined ? 0 : signatureBytes)
  let index = 0
  for await (const { bytes, last } of splitChunks(source.rest(), size)) {
    const end = sender === undefined ? bytes.length : bytes.length - signatureBytes
    const chunk = bytes.subarray(0, Math.max(0, end))
    if (
      sender !== undefined &&
      !verify(null, buildChunkInput(mac, index, last, chunk), sender, bytes.subarray(Math.max(0, end)))
    )
      throw createTamperError(index + 1)
    index += 1
    yield chunks.open(chunk, last)
  }
}

function parseHeader(line: Buffer): Header {
  let header: Partial<Header> | null
  try {
    header = JSON.parse(line.toString('utf8')) as Partial<Header> | null
  } catch {
    header = null
  }
  if (header?.format !== format) throw new BackupRefused('this is not a backup of warder backup')
  if (header.version !== version && header.version !== unsignedVersion)
    throw new BackupRefused('the backup has a newer format: use a newer Warder')
  if (!Array.isArray(header.keys) || typeof header.prefix !== 'string')
    throw new BackupRefused('the header of the backup is invalid')
  return header as Header
}

function readSender({ sender = '' }: Header): KeyObject {
  try {
    const key = createPublicKey({ key: Buffer.from(sender, 'base64url'), format: 'der', type: 'spki' })
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // Reported below.
  }
  throw new BackupRefused('the header of the backup is invalid: it contains no valid key of the sender')
}

/** Domain separation from other signatures with the key. */
const headerDomain = 'warder backup header 2\n'
const chunkDomain = 'warder backup chunk 2\n'

function buildHeaderInput(line: Buffer, mac: Buffer): Buffer {
  return Buffer.concat([Buffer.from(headerDomain), mac, line])
}

function buildChunkInput(mac: Buffer, index: number, last: boolean, sealed: Uint8Array): Buffer {
  const place = Buffer.alloc(9)
  place.writeBigUInt64BE(BigInt(index), 0)
  place.writeUInt8(last ? 1 : 0, 8)
  return Buffer.concat([Buffer.from(chunkDomain), mac, place, createHash('sha512').update(sealed).digest()])
}

function createTamperError(part: number): BackupRefused {
  return new BackupRefused(`the backup was changed, truncated or extended at or after part ${part}`)
}

function deriveKeys(fileKey: Uint8Array) {
  const key = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', fileKey, Buffer.alloc(0), `warder backup v1 ${purpose}`, 32))
  return { header: key('header'), chunks: key('chunks') }
}

function computeMac(line: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(line).digest()
}

/** AES-256-GCM; the nonce contains the index of the chunk and a flag for the last one. */
class Chunks {
  readonly #key
  readonly #prefix: Buffer
  readonly #context: Buffer
  #index = 0

  constructor(key: Buffer, prefix: Buffer, context: Buffer) {
    this.#key = createSecretKey(key)
    key.fill(0)
    this.#prefix = prefix
    this.#context = context
  }

  #nonce(last: boolean): Buffer {
    const nonce = Buffer.alloc(12)
    this.#prefix.copy(nonce)
    nonce.writeUInt32BE(this.#index, prefixBytes)
    nonce.writeUInt8(last ? 1 : 0, 11)
    this.#index += 1
    return nonce
  }

  seal(plain: Uint8Array, last: boolean): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#key, this.#nonce(last), { authTagLength: tagBytes })
    cipher.setAAD(this.#context)
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  open(sealed: Uint8Array, last: boolean): Buffer {
    const end = sealed.length - tagBytes
    const part = this.#index + 1
    const createError = (): BackupRefused => createTamperError(part)
    if (end < 0) throw createError()
    const decipher = createDecipheriv('aes-256-gcm', this.#key, this.#nonce(last), {
      authTagLength: tagBytes,
    })
    decipher.setAAD(this.#context)
    decipher.setAuthTag(sealed.subarray(end))
    try {
      return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()])
    } catch {
      throw createError()
    }
  }
}

/** Splits a stream into chunks of one size; the last one has the rest and may be empty. */
async function* splitChunks(
  stream: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ readonly bytes: Buffer; readonly last: boolean }> {
  let parts: Uint8Array[] = []
  let length = 0
  for await (const part of stream) {
    parts.push(part)
    length += part.length
    if (length <= size) continue
    let whole = Buffer.concat(parts)
    // With one byte more than a chunk, it is not the last.
    while (whole.length > size) {
      yield { bytes: whole.subarray(0, size), last: false }
      whole = whole.subarray(size)
    }
    parts = [whole]
    length = whole.length
  }
  yield { bytes: Buffer.concat(parts), last: true }
}

/** Buffered reader of a stream. */
class Source {
  readonly #stream: AsyncIterator<Uint8Array>
  #buffered: Buffer = Buffer.alloc(0)

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#stream = stream[Symbol.asyncIterator]()
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#stream.next()
    if (done === true) return false
    this.#buffered = Buffer.concat([this.#buffered, value])
    return true
  }

  /** Reads a line with its line end, or at most `maxBytes` if there is none. */
  async line(maxBytes: number): Promise<Buffer> {
    while (!this.#buffered.includes(10) && this.#buffered.length < maxBytes) if (!(await this.#more())) break
    const end = this.#buffered.indexOf(10)
    return this.take(end < 0 ? Math.min(this.#buffered.length, maxBytes) : end + 1)
  }

  async take(length: number): Promise<Buffer> {
    while (this.#buffered.length < length) if (!(await this.#more())) break
    const taken = this.#buffered.subarray(0, length)
    this.#buffered = this.#buffered.subarray(taken.length)
    return taken
  }

  async *rest(): AsyncGenerator<Uint8Array> {
    if (this.#buffered.length > 0) yield this.#buffered
    for (;;) {
      const { value, done } = await this.#stream.next()
      if (done === true) return
      yield value
    }
  }
}
