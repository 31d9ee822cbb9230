import { createHash } from 'node:crypto'
import { FileRefused } from '@warder/command-line/files'
import { openFile } from './open-file.ts'
import { fillFrom, readPieces } from './read.ts'

/** A detached JWS (RFC 7515 appendix F) of the key management service. */
export interface FileSignature {
  readonly protected: string
  readonly signature: string
}

const maxSignatureFileBytes = 64 * 1024
const hashBytes = 1024 * 1024

/**
 * Computes the JWS payload of a file: the ASCII text `warder-file-sha256:` and the SHA-256 of its bytes in 64 hexadecimal
 * digits. The prefix separates signatures over files from other signatures.
 * @throws FileRefused when it is not a file
 */
export async function computePayload(
  path: string,
  options: {
    readonly onProgress?: (done: number, size: number) => void
    readonly signal?: AbortSignal | undefined
  } = {},
): Promise<Buffer> {
  await using file = await openFile(path)
  const { size } = await file.stat()
  const hash = createHash('sha256')
  let done = 0
  for await (const { bytes } of readPieces(fillFrom(file), hashBytes)) {
    options.signal?.throwIfAborted()
    hash.update(bytes)
    done += bytes.length
    options.onProgress?.(done, size)
  }
  return Buffer.from(`warder-file-sha256:${hash.digest('hex')}`, 'ascii')
}

export function writeSignature({ protected: header, signature }: FileSignature): string {
  return `${JSON.stringify({ protected: header, signature })}\n`
}

/** @throws FileRefused when it is not a signature file */
export async function readSignature(path: string): Promise<FileSignature> {
  await using file = await openFile(path)
  const broken = new FileRefused(`${path} is not a signature of warder crypto sign`)
  if ((await file.stat()).size > maxSignatureFileBytes) throw broken
  const text = await file.readFile('utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw broken
  }
  const { protected: header, signature } = (json ?? {}) as Readonly<Record<string, unknown>>
  if (typeof header !== 'string' || typeof signature !== 'string') throw broken
  return { protected: header, signature }
}

/** Reads the id of the signing key, which is trusted only after verification; undefined: none is named. */
export function readSigner({ protected: header }: FileSignature): string | undefined {
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}
