import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { FileRefused } from './refused.ts'

/** A detached JWS (RFC 7515 appendix F) as the key management service makes and verifies it. */
export interface FileSignature {
  readonly protected: string
  readonly signature: string
}

const longestSignatureFile = 64 * 1024

/**
 * The JWS payload that stands for a file: the ASCII text `warder-file-sha256:` and the SHA-256 of its bytes in 64
 * hexadecimal digits. The words before the digest keep a signature over a file from being one over anything else.
 */
export async function payloadOf(
  path: string,
  options: { readonly onProgress?: (done: number) => void; readonly signal?: AbortSignal | undefined } = {},
): Promise<Buffer> {
  const hash = createHash('sha256')
  let done = 0
  const { signal } = options
  const parts = createReadStream(path, {
    highWaterMark: 1024 * 1024,
    ...(signal !== undefined && { signal }),
  })
  for await (const part of parts as AsyncIterable<Buffer>) {
    hash.update(part)
    done += part.length
    options.onProgress?.(done)
  }
  return Buffer.from(`warder-file-sha256:${hash.digest('hex')}`, 'ascii')
}

export function writeSignature({ protected: header, signature }: FileSignature): string {
  return `${JSON.stringify({ protected: header, signature })}\n`
}

/** @throws FileRefused when it is not a signature file */
export async function readSignature(path: string): Promise<FileSignature> {
  const text = await readFile(path)
  const broken = new FileRefused(`${path} is not a signature that warder crypto sign wrote`)
  if (text.length > longestSignatureFile) throw broken
  let json: unknown
  try {
    json = JSON.parse(text.toString('utf8'))
  } catch {
    throw broken
  }
  const { protected: header, signature } = (json ?? {}) as Readonly<Record<string, unknown>>
  if (typeof header !== 'string' || typeof signature !== 'string') throw broken
  return { protected: header, signature }
}

/** The key that a signature says it is of: to be believed when it has verified. undefined: it names none. */
export function signerOf({ protected: header }: FileSignature): string | undefined {
  try {
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as { kid?: unknown }
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}
