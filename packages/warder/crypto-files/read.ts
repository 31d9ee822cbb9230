import type { FileHandle } from 'node:fs/promises'

/** Fills the buffer from the file's current position. @returns how much was left to read, at most its length */
export async function readUpTo(file: FileHandle, buffer: Uint8Array): Promise<number> {
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, null)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return filled
}

/** A piece of a file, and whether it is the last one. The bytes are valid until the next piece is asked for. */
export interface Piece {
  readonly bytes: Buffer
  readonly index: number
  readonly last: boolean
}

/**
 * The rest of a file in pieces of `size` bytes; only the last one may be shorter, and it is empty only where there is
 * nothing at all. Two buffers are all the memory it takes.
 */
export async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Piece> {
  let current = Buffer.allocUnsafeSlow(size)
  let next = Buffer.allocUnsafeSlow(size)
  let length = await readUpTo(file, current)
  for (let index = 0; ; index += 1) {
    const following = length === size ? await readUpTo(file, next) : 0
    yield { bytes: current.subarray(0, length), index, last: following === 0 }
    if (following === 0) return
    ;[current, next] = [next, current]
    length = following
  }
}
