import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { FileRefused } from '@warder/command-line/files'
import { writeAtomically } from './atomic-file.ts'
import { chunkBytes, chunkCipher, tagBytes } from './chunk.ts'
import { dataKeyBytes, deriveKeys, prefixBytes, readHeader, verifyHeader, writeHeader } from './header.ts'
import { openFile } from './open-file.ts'
import { type Fill, fillFrom, fillFromStream, readPieces } from './read.ts'
import { isForPolicy, readKeyId, type WrappedKey } from './wrapped-key.ts'
import { createFileSink, createPipeSink, type Sink } from './write.ts'

export interface FileOptions {
  /** Name of a file, or a stream. */
  readonly input: string | Readable
  /** Name of a file, or a function that writes bytes and resolves when they are written. */
  readonly output: string | ((bytes: Uint8Array) => Promise<void>)
  /** true: replaces an existing output file. */
  readonly overwrite: boolean
  /** Receives, after each chunk of a file, the number of processed bytes and the size. */
  readonly onProgress?: (done: number, size: number) => void
  /** Aborts between chunks; leaves nothing behind. */
  readonly signal?: AbortSignal | undefined
}

export interface FileDone {
  /** Bytes of plaintext. */
  readonly bytes: number
  readonly chunks: number
}

/**
 * Encrypts a file of any size under a data key of its own. Memory does not grow with the file.
 * @param wrap has the data key wrapped by the key management service; the bytes are wiped afterwards
 */
export async function encryptFile(
  options: FileOptions,
  wrap: (dataKey: Uint8Array) => Promise<WrappedKey>,
): Promise<FileDone> {
  await using input = await openSource(options)
  const dataKey = randomBytes(dataKeyBytes)
  const keys = deriveKeys(dataKey)
  try {
    const header = writeHeader(await wrap(dataKey), randomBytes(prefixBytes), keys)
    const cipher = chunkCipher(header, keys)
    return await withSink(options, async (out) => {
      let done = { bytes: 0, chunks: 0 }
      await out.write([header.bytes, header.binding])
      for await (const { bytes, index, last } of readPieces(input.fill, chunkBytes)) {
        options.signal?.throwIfAborted()
        await out.write(cipher.seal(bytes, index, last))
        done = { bytes: done.bytes + bytes.length, chunks: index + 1 }
        input.progress(done.bytes)
      }
      return done
    })
  } finally {
    dataKey.fill(0)
    keys.wipe()
  }
}

/**
 * Decrypts a file of `encryptFile`. An output file appears only after every byte of the input was verified. A pipe gets
 * each chunk as soon as that is verified, and only the resolved promise confirms the rest.
 * @param options.kid the only key that the file may be encrypted with; undefined = any that the caller may use
 * @param unwrap unwraps the data key; the bytes are wiped afterwards
 * @throws FileRefused when anything was changed, truncated, moved, repeated or added
 */
export async function decryptFile(
  options: FileOptions & { readonly kid?: string | undefined },
  unwrap: (wrapped: WrappedKey) => Promise<Uint8Array>,
): Promise<FileDone & { readonly kid: string }> {
  await using input = await openSource(options)
  const header = await readHeader(input.fill)
  const kid = readKeyId(header.wrapped)
  if (options.kid !== undefined && options.kid !== kid && !isForPolicy(header.wrapped)) {
    throw new FileRefused('the file is encrypted with another key than the given one')
  }
  const dataKey = await unwrap(header.wrapped)
  const keys = deriveKeys(dataKey, header.format)
  try {
    if (dataKey.length !== dataKeyBytes) throw new FileRefused('the header of the file is invalid')
    verifyHeader(header, keys)
    const cipher = chunkCipher(header, keys)
    return await withSink(options, async (out) => {
      let done = { bytes: 0, chunks: 0, kid }
      let read = header.bytes.length + header.binding.length
      for await (const { bytes, index, last } of readPieces(input.fill, chunkBytes + tagBytes)) {
        options.signal?.throwIfAborted()
        await out.write(cipher.open(bytes, index, last))
        read += bytes.length
        done = { bytes: done.bytes + bytes.length - tagBytes, chunks: index + 1, kid }
        input.progress(read)
      }
      return done
    })
  } finally {
    dataKey.fill(0)
    keys.wipe()
  }
}

interface Source extends AsyncDisposable {
  readonly fill: Fill
  /** @param done bytes of the input so far */
  progress(done: number): void
}

async function openSource({ input, onProgress, signal }: FileOptions): Promise<Source> {
  if (typeof input !== 'string') {
    return {
      fill: fillFromStream(input, signal),
      progress: () => undefined,
      // An unread input must not keep the process alive.
      [Symbol.asyncDispose]: async () => void input.destroy(),
    }
  }
  const file = await openFile(input)
  const { size } = await file.stat()
  return {
    fill: fillFrom(file),
    progress: (done) => onProgress?.(done, size),
    [Symbol.asyncDispose]: () => file.close(),
  }
}

/** An output file appears complete or not at all. */
function withSink<R>({ output, ...options }: FileOptions, act: (sink: Sink) => Promise<R>): Promise<R> {
  const runAndEnd = async (sink: Sink): Promise<R> => {
    const result = await act(sink)
    // Not after a failure: a stalled reader of a pipe must not delay the error. A file is closed by its owner.
    await sink.end()
    return result
  }
  if (typeof output !== 'string') return runAndEnd(createPipeSink(output))
  return writeAtomically(output, options, (file) => runAndEnd(createFileSink(file)))
}
