import type { FileHandle } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'

/** Fills the buffer with the next bytes. @returns the number of bytes; less than its length only at the end */
export type Fill = (buffer: Uint8Array) => Promise<number>

/** Reads a file from its current position on. */
export function fillFrom(file: FileHandle): Fill {
  return async (buffer) => {
    let filled = 0
    while (filled < buffer.length) {
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, null)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return filled
  }
}

/** Reads a stream, only as far as requested. @param signal aborts a pending read */
export function fillFromStream(stream: Readable, signal: AbortSignal | undefined): Fill {
  if (signal !== undefined) addAbortSignal(signal, stream)
  const parts = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  return async (buffer) => {
    let filled = 0
    while (filled < buffer.length) {
      if (rest.length === 0) {
        const next = await parts.next()
        if (next.done === true) break
        rest = next.value
      }
      const taken = rest.subarray(0, buffer.length - filled)
      buffer.set(taken, filled)
      filled += taken.length
      rest = rest.subarray(taken.length)
    }
    return filled
  }
}

/** A piece of a file, and whether it is the last one. The bytes are valid until the next piece is requested. */
export interface Piece {
  readonly bytes: Buffer
  readonly index: number
  readonly last: boolean
}

/**
 * Reads the rest of a source in pieces of `size` bytes. Only the last piece may be shorter, and it is empty only if there is
 * no data at all. Reads two pieces ahead, with three buffers in total. If the caller stops early a read may be pending,
 * and closing the file waits for it.
 */
export async function* readPieces(fill: Fill, size: number): AsyncGenerator<Piece> {
  const buffers = Array.from({ length: 3 }, () => Buffer.allocUnsafeSlow(size))
  const read = async (index: number): Promise<Buffer> => {
    const buffer = buffers[index % 3] ?? Buffer.alloc(0)
    return buffer.subarray(0, await fill(buffer))
  }
  const nothing = Promise.resolve(Buffer.alloc(0))
  const readAhead = (piece: Buffer, index: number): Promise<Buffer> => {
    const next = piece.length === size ? read(index) : nothing
    // Awaited later; until then a rejection must not be unhandled.
    next.catch(() => undefined)
    return next
  }
  let current = await read(0)
  let reading = readAhead(current, 1)
  for (let index = 0; ; index += 1) {
    const following = await reading
    reading = readAhead(following, index + 2)
    yield { bytes: current, index, last: following.length === 0 }
    if (following.length === 0) return
    current = following
  }
}
