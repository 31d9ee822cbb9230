import { randomFillSync } from 'node:crypto'

const ivLength = 12
const block = Buffer.alloc(ivLength * 512)
let used = block.length

/** A random 96-bit IV of its own memory. One call to the generator serves 512; no byte is handed out twice. */
export function nextIv(): Buffer {
  if (used === block.length) {
    randomFillSync(block)
    used = 0
  }
  const iv = Buffer.from(block.subarray(used, used + ivLength))
  used += ivLength
  return iv
}
