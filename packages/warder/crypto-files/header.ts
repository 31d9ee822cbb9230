import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { FileRefused } from '../cli/refused.ts'
import { readUpTo } from './read.ts'

/** Members of a flattened JWE (RFC 7516 §7.2.2), as the key management service makes and opens it. */
const jweMembers = ['protected', 'encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'] as const
export type JweMember = (typeof jweMembers)[number]

/** The wrapped data key. */
export type WrappedKey = Readonly<Record<JweMember, string>>

export interface Header {
  readonly wrapped: WrappedKey
  /** First bytes of every nonce of the file. */
  readonly prefix: Buffer
  /** Everything before the header's authentication code. */
  readonly bytes: Buffer
  readonly mac: Buffer
}

/** What is derived from a file's data key. */
export interface FileKeys {
  readonly chunks: Buffer
  readonly header: Buffer
  wipe(): void
}

export const dataKeyBytes = 32
export const prefixBytes = 7
/** The JWE's additional data: a data key of a file is nothing else, and nothing else is one. */
export const wrappingContext = Buffer.from('warder file v1').toString('base64url')

const magic = Buffer.from('WARDERF\x01', 'latin1')
const macBytes = 32
const longestWrappedKey = 16 * 1024
const fixedBytes = magic.length + prefixBytes + 4

/** Keys for the chunks and for the header, from the data key (HKDF-SHA-256, RFC 5869). */
export function deriveKeys(dataKey: Uint8Array): FileKeys {
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', dataKey, Buffer.alloc(0), `warder file v1 ${purpose}`, 32))
  const keys = { chunks: derive('chunks'), header: derive('header') }
  return {
    ...keys,
    wipe() {
      keys.chunks.fill(0)
      keys.header.fill(0)
    },
  }
}

/** A header as it is written, with its authentication code (HMAC-SHA-256) at the end. */
export function writeHeader(wrapped: WrappedKey, prefix: Buffer, keys: FileKeys): Header {
  const picked = Object.fromEntries(jweMembers.map((name) => [name, wrapped[name]]))
  const json = Buffer.from(JSON.stringify(picked), 'utf8')
  if (json.length > longestWrappedKey)
    throw new FileRefused('the policy has too many alternatives for a file')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.length)
  const bytes = Buffer.concat([magic, prefix, length, json])
  return { wrapped, prefix, bytes, mac: macOf(bytes, keys) }
}

/**
 * Reads the header at the start of a file. What it says is not authentic before `verifyHeader`.
 * @throws FileRefused when it is not one of ours
 */
export async function readHeader(file: FileHandle): Promise<Header> {
  const start = Buffer.alloc(fixedBytes)
  const found = await readUpTo(file, start)
  if (found < magic.length || !start.subarray(0, magic.length - 1).equals(magic.subarray(0, -1))) {
    throw new FileRefused('this is not a file that warder crypto encrypt wrote')
  }
  if (start[magic.length - 1] !== magic.at(-1)) throw new FileRefused('the file has a newer format')
  if (found < fixedBytes) throw cut()
  const length = start.readUInt32BE(magic.length + prefixBytes)
  if (length > longestWrappedKey) throw new FileRefused('the header of the file is broken')
  const rest = Buffer.alloc(length + macBytes)
  if ((await readUpTo(file, rest)) < rest.length) throw cut()
  const json = rest.subarray(0, length)
  return {
    wrapped: parseWrappedKey(json.toString('utf8')),
    prefix: start.subarray(magic.length, magic.length + prefixBytes),
    bytes: Buffer.concat([start, json]),
    mac: rest.subarray(length),
  }
}

/** @throws FileRefused when the header is not what the holder of the data key wrote */
export function verifyHeader(header: Header, keys: FileKeys): void {
  if (!timingSafeEqual(macOf(header.bytes, keys), header.mac)) {
    throw new FileRefused('the header of the file was changed')
  }
}

function macOf(bytes: Uint8Array, keys: FileKeys): Buffer {
  return createHmac('sha256', keys.header).update(bytes).digest()
}

function parseWrappedKey(text: string): WrappedKey {
  const broken = new FileRefused('the header of the file is broken')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw broken
  }
  if (typeof json !== 'object' || json === null) throw broken
  const found = json as Readonly<Record<string, unknown>>
  const read = (name: JweMember): string => {
    const value = found[name]
    if (typeof value !== 'string' || !/^[A-Za-z0-9_-]*$/.test(value)) throw broken
    return value
  }
  if (Object.keys(found).length !== jweMembers.length) throw broken
  const wrapped = {
    protected: read('protected'),
    encrypted_key: read('encrypted_key'),
    iv: read('iv'),
    ciphertext: read('ciphertext'),
    tag: read('tag'),
    aad: read('aad'),
  }
  if (wrapped.aad !== wrappingContext) throw broken
  return wrapped
}

/** The key that a wrapped data key names. @throws FileRefused */
export function kidOf(wrapped: WrappedKey): string {
  return namedIn(wrapped).kid
}

/** Whether the data key is encrypted for a policy: a user key opens it, which the header cannot name. @throws FileRefused */
export function isForPolicy(wrapped: WrappedKey): boolean {
  return namedIn(wrapped).alg === 'ABE'
}

function namedIn(wrapped: WrappedKey): { readonly kid: string; readonly alg: unknown } {
  try {
    const { kid, alg } = JSON.parse(Buffer.from(wrapped.protected, 'base64url').toString('utf8')) as {
      kid?: unknown
      alg?: unknown
    }
    if (typeof kid === 'string') return { kid, alg }
  } catch {
    // Said below.
  }
  throw new FileRefused('the header of the file is broken')
}

function cut(): FileRefused {
  return new FileRefused('the file ends within its header')
}
