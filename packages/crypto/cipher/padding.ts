import { randomFillSync } from 'node:crypto'
import type { BlockPadding } from '../algorithms/ciphers.ts'
import { decryptionFailed, refuse } from '../algorithms/failure.ts'

/**
 * Padding after `rest`, the bytes that do not fill a block.
 * @param lastByte the last byte of all data, undefined when there is none
 * @throws invalid_input for `None` if data remain that do not fill a block, and for `Zeros` if the data end
 *   with a zero byte
 */
export function paddingFor(
  padding: BlockPadding,
  rest: number,
  block: number,
  lastByte: number | undefined,
): Buffer {
  const missing = block - rest
  switch (padding) {
    case 'None':
      if (rest !== 0)
        throw refuse('invalid_input', `Without padding, Data must be a multiple of ${block} bytes.`)
      return Buffer.alloc(0)
    case 'Zeros':
      if (lastByte === 0)
        throw refuse('invalid_input', 'The padding Zeros is ambiguous for data that ends with a zero byte.')
      return Buffer.alloc(rest === 0 ? 0 : missing)
    case 'PKCS5':
      return Buffer.alloc(missing, missing)
    case 'ANSIX9_23':
      return withLast(Buffer.alloc(missing), missing)
    case 'ISO10126':
      return withLast(randomFillSync(Buffer.alloc(missing)), missing)
    case 'SSL3':
      return withLast(Buffer.alloc(missing), missing - 1)
  }
}

function withLast(bytes: Buffer, value: number): Buffer {
  bytes[bytes.length - 1] = value
  return bytes
}

/**
 * The last block (or no bytes, of data that was empty) without its padding.
 * @throws failed when it has none
 */
export function removePadding(padding: BlockPadding, last: Buffer, block: number): Buffer {
  if (padding === 'None') return last
  if (padding === 'Zeros') {
    let end = last.length
    while (end > 0 && last[end - 1] === 0) end -= 1
    // A block of only zeros is never padding.
    if (end === 0 && last.length > 0) throw decryptionFailed()
    return last.subarray(0, end)
  }
  const count = (last.at(-1) ?? 0) + (padding === 'SSL3' ? 1 : 0)
  let wrong = Number(last.length !== block) | Number(count === 0) | Number(count > block)
  const filling = padding === 'PKCS5' ? count : padding === 'ANSIX9_23' ? 0 : undefined
  if (filling !== undefined) {
    // Constant time: every byte is checked, whatever the count.
    for (let at = 0; at < last.length - 1; at += 1) {
      const padded = Number(at >= block - count)
      wrong |= padded & Number(last[at] !== filling)
    }
  }
  if (wrong !== 0) throw decryptionFailed()
  return last.subarray(0, block - count)
}
