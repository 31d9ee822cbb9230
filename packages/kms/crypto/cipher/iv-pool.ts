import { randomFillSync } from 'node:crypto'

const ivLength = 12
const blockLength = ivLength * 512
let block = Buffer.alloc(0)
let used = 0

/**
 * A random 96-bit IV. One call to the generator serves 512, each a window of its own on a block that is never filled
 * again: no byte is handed out twice.
 */
export function nextIv(): Buffer {
  if (used === block.length) {
    block = Buffer.allocUnsafeSlow(blockLength)
    randomFillSync(block)
    used = 0
  }
  const iv = block.subarray(used, used + ivLength)
  used += ivLength
  return iv
}
