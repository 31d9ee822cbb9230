import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { FileRefused } from '../cli/refused.ts'
import { writeAtomically } from './atomic-file.ts'
import { chunkBytes, chunkCipher, tagBytes } from './chunk.ts'
import { dataKeyBytes, deriveKeys, prefixBytes, readHeader, verifyHeader, writeHeader } from './header.ts'
import { openFile } from './open-file.ts'
import { type Fill, fillFrom, fillFromStream, readPieces } from './read.ts'
import { isForPolicy, readKeyId, type WrappedKey } from './wrapped-key.ts'
import { createFileSink, createPipeSink, type Sink } from './write.ts'

export interface FileOptions {
  /** A file by its name, or what is piped in. */
  readonly input: string | Readable
  /** A file by its name, or what takes the bytes that are piped out, and resolves when it did. */
  readonly output: string | ((bytes: Uint8Array) => Promise<void>)
  /** true: replaces what has the output's name. */
  readonly overwrite: boolean
  /** Told after each chunk of a file: bytes of it so far, and its size. */
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
 * Decrypts what `encryptFile` wrote. A file appears when every byte of the input has verified, never before; a pipe gets
 * each chunk once that has verified, and only the end of this promise says that there was nothing wrong with the rest.
 * @param options.kid the only key that the file may be encrypted with; undefined = any that the caller may use
 * @param unwrap opens the wrapped data key; the bytes are wiped after use
 * @throws FileRefused when anything was changed, cut, moved, repeated or added
 */
export async function decryptFile(
  options: FileOptions & { readonly kid?: string | undefined },
  unwrap: (wrapped: WrappedKey) => Promise<Uint8Array>,
): Promise<FileDone & { readonly kid: string }> {
  await using input = await openSource(options)
  const header = await readHeader(input.fill)
  const kid = readKeyId(header.wrapped)
  if (options.kid !== undefined && options.kid !== kid && !isForPolicy(header.wrapped)) {
    throw new FileRefused('the file is encrypted with another key than the one you name')
  }
  const dataKey = await unwrap(header.wrapped)
  const keys = deriveKeys(dataKey, header.format)
  try {
    if (dataKey.length !== dataKeyBytes) throw new FileRefused('the header of the file is broken')
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
      // An input that nobody reads any more must not keep the process alive.
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

/** A file appears whole or not at all. */
function withSink<R>({ output, ...options }: FileOptions, act: (sink: Sink) => Promise<R>): Promise<R> {
  const runAndEnd = async (sink: Sink): Promise<R> => {
    const result = await act(sink)
    // After a failure nobody waits for a reader of a pipe that takes nothing; the closing of a file does.
    await sink.end()
    return result
  }
  if (typeof output !== 'string') return runAndEnd(createPipeSink(output))
  return writeAtomically(output, options, (file) => runAndEnd(createFileSink(file)))
}
