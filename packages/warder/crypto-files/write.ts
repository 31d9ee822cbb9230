import type { FileHandle } from 'node:fs/promises'

/** Takes bytes in their order. */
export interface Sink {
  /** Copies the parts, one after the other. Resolves when there is room for more. */
  write(parts: Iterable<Uint8Array>): Promise<void>
  /** Resolves when everything was taken. @throws what the first failure of a write was */
  end(): Promise<void>
}

/**
 * Larger writes of a large file cost the kernel three to four times as much (ext4, Linux 6.18: docs/adr/command.md).
 */
const blockBytes = 64 * 1024
const blocks = 32

/** Writes to a file behind the back of the caller, who makes the next bytes meanwhile. */
export function createFileSink(file: FileHandle): Sink {
  return writeBehind(async (bytes) => {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, written)
      written += bytesWritten
    }
  })
}

/** Writes to a pipe. @param write resolves when the bytes were taken */
export function createPipeSink(write: (bytes: Uint8Array) => Promise<void>): Sink {
  return writeBehind(write)
}

/**
 * The bytes are copied into a few blocks that are used again and again: a cipher makes a new buffer for each output, and
 * buffers that wait to be written would each take new memory of the system, which costs more than the copy.
 */
function writeBehind(act: (bytes: Uint8Array) => Promise<void>): Sink {
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
