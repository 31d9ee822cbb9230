import type { FileHandle } from 'node:fs/promises'

/** A sequential output. */
export interface Sink {
  /** Copies the parts in order. Resolves when the buffer has room again. */
  write(parts: Iterable<Uint8Array>): Promise<void>
  /** Resolves when everything is written. @throws the error of the first failed write */
  end(): Promise<void>
}

/**
 * Larger writes cost the kernel three to four times as much time (ext4, Linux 6.18: docs/adr/command.md).
 */
const blockBytes = 64 * 1024
const blocks = 32

/** Writes to a file in the background, while the caller produces the next bytes. */
export function createFileSink(file: FileHandle): Sink {
  return queueWrites(async (bytes) => {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, written)
      written += bytesWritten
    }
  })
}

/** Writes to a pipe in the background. @param write resolves when the bytes are written */
export function createPipeSink(write: (bytes: Uint8Array) => Promise<void>): Sink {
  return queueWrites(write)
}

/**
 * Copies the bytes into a fixed set of blocks: a cipher allocates a new buffer for each output, and queueing those buffers
 * would allocate new memory from the system, which costs more than the copy.
 */
function queueWrites(act: (bytes: Uint8Array) => Promise<void>): Sink {
  const free = Array.from({ length: blocks }, () => Buffer.allocUnsafeSlow(blockBytes))
  let block: Buffer<ArrayBuffer> | undefined
  let filled = 0
  let failure: { readonly error: unknown } | undefined
  let working = Promise.resolve()
  const throwFailure = (): void => {
    if (failure !== undefined) throw failure.error
  }
  const acquireBlock = async (): Promise<Buffer<ArrayBuffer>> => {
    for (;;) {
      throwFailure()
      const found = free.pop()
      if (found !== undefined) return found
      await working
    }
  }
  const enqueue = (full: Buffer<ArrayBuffer>, length: number): void => {
    const before = working
    working = (async () => {
      await before
      try {
        if (failure === undefined) await act(full.subarray(0, length))
      } catch (error) {
        failure = { error }
      } finally {
        free.push(full)
      }
    })()
  }
  return {
    async write(parts) {
      for (const part of parts)
        for (let at = 0; at < part.length; ) {
          block ??= await acquireBlock()
          const piece = part.subarray(at, at + blockBytes - filled)
          block.set(piece, filled)
          at += piece.length
          filled += piece.length
          if (filled < blockBytes) continue
          enqueue(block, filled)
          block = undefined
          filled = 0
        }
    },
    async end() {
      if (block !== undefined) enqueue(block, filled)
      block = undefined
      await working
      throwFailure()
    },
  }
}
