import { randomBytes } from 'node:crypto'
import { FileRefused } from '../cli/refused.ts'
import { chunkBytes, chunkCipher, tagBytes } from './chunk.ts'
import {
  dataKeyBytes,
  deriveKeys,
  isForPolicy,
  kidOf,
  prefixBytes,
  readHeader,
  verifyHeader,
  type WrappedKey,
  writeHeader,
} from './header.ts'
import { openFile } from './open-file.ts'
import { piecesOf } from './read.ts'
import { writeWhole } from './whole-file.ts'

export interface FileOptions {
  readonly input: string
  readonly output: string
  /** true: replaces what has the output's name. */
  readonly overwrite: boolean
  /** Told after each chunk: bytes of the input so far, and its size. */
  readonly onProgress?: (done: number, size: number) => void
  /** Stops between chunks; nothing is left behind. */
  readonly signal?: AbortSignal | undefined
}

export interface FileDone {
  /** Bytes of plaintext. */
  readonly bytes: number
  readonly chunks: number
}

/**
 * Encrypts a file of any size under a data key of its own. Memory does not grow with the file.
 * @param wrap gives the data key to the key management service and gets it back wrapped; the bytes are wiped after
 */
export async function encryptFile(
  options: FileOptions,
  wrap: (dataKey: Uint8Array) => Promise<WrappedKey>,
): Promise<FileDone> {
  await using input = await openFile(options.input)
  const { size } = await input.stat()
  const dataKey = randomBytes(dataKeyBytes)
  const keys = deriveKeys(dataKey)
  try {
    const header = writeHeader(await wrap(dataKey), randomBytes(prefixBytes), keys)
    const cipher = chunkCipher(header, keys)
    return await writeWhole(options.output, options, async (out) => {
      let done = { bytes: 0, chunks: 0 }
      await out.writeFile(Buffer.concat([header.bytes, header.mac]))
      for await (const { bytes, index, last } of piecesOf(input, chunkBytes)) {
        options.signal?.throwIfAborted()
        for (const part of cipher.seal(bytes, index, last)) await out.writeFile(part)
        done = { bytes: done.bytes + bytes.length, chunks: index + 1 }
        options.onProgress?.(done.bytes, size)
      }
      return done
    })
  } finally {
    dataKey.fill(0)
    keys.wipe()
  }
}

/**
 * Decrypts what `encryptFile` wrote. The output appears when every byte of the input has verified, never before.
 * @param options.kid the only key that the file may be encrypted with; undefined = any that the caller may use
 * @param unwrap opens the wrapped data key; the bytes are wiped after use
 * @throws FileRefused when anything was changed, cut, moved, repeated or added
 */
export async function decryptFile(
  options: FileOptions & { readonly kid?: string | undefined },
  unwrap: (wrapped: WrappedKey) => Promise<Uint8Array>,
): Promise<FileDone & { readonly kid: string }> {
  await using input = await openFile(options.input)
  const { size } = await input.stat()
  const header = await readHeader(input)
  const kid = kidOf(header.wrapped)
  if (options.kid !== undefined && options.kid !== kid && !isForPolicy(header.wrapped)) {
    throw new FileRefused('the file is encrypted with another key than the one you name')
  }
  const dataKey = await unwrap(header.wrapped)
  const keys = deriveKeys(dataKey)
  try {
    if (dataKey.length !== dataKeyBytes) throw new FileRefused('the header of the file is broken')
    verifyHeader(header, keys)
    const cipher = chunkCipher(header, keys)
    return await writeWhole(options.output, options, async (out) => {
      let done = { bytes: 0, chunks: 0, kid }
      let read = header.bytes.length + header.mac.length
      for await (const { bytes, index, last } of piecesOf(input, chunkBytes + tagBytes)) {
        options.signal?.throwIfAborted()
        const plain = cipher.open(bytes, index, last)
        await out.writeFile(plain)
        read += bytes.length
        done = { bytes: done.bytes + plain.length, chunks: index + 1, kid }
        options.onProgress?.(read, size)
      }
      return done
    })
  } finally {
    dataKey.fill(0)
    keys.wipe()
  }
}
