import type { RequestItem, TtlvNode } from '@warder/kmip-codec'

/** Approximate memory of a decoded node beside the bytes of the message. */
const nodeBytes = 200

/**
 * Memory that a request keeps while it waits, in bytes. Values are views of the message, so that one of them keeps
 * all of it; a message of empty structures takes more in nodes than it has bytes.
 * @param size of the buffer that the message lies in
 */
export function countKeptBytes(size: number, items: readonly RequestItem[]): number {
  let nodes = 0
  for (const { payload, extensions } of items) {
    nodes += countNodes(payload)
    for (const extension of extensions) nodes += countNodes(extension)
  }
  return size + nodes * nodeBytes
}

function countNodes(node: TtlvNode): number {
  if (node.type !== 'Structure') return 1
  return node.value.reduce((sum, member) => sum + countNodes(member), 1)
}
