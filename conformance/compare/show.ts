import { Buffer } from 'node:buffer'
import { encodeJson, type TtlvNode, tagText } from '@warder/kmip-codec'

const maxShown = 80

/** A value as people read it, cut to a line. */
export function show(node: TtlvNode): string {
  if (node.type === 'Structure')
    return `{${node.value.map((member) => tagText(member.tag, true)).join(', ')}}`
  const { value } = JSON.parse(encodeJson(node, true)) as { readonly value: unknown }
  const text = String(value)
  return text.length > maxShown ? `${text.slice(0, maxShown)}… (${text.length} characters)` : text
}

/** The text of a scalar in XML: the value of a placeholder. */
export function formatNode(node: TtlvNode): string {
  if (node.type === 'ByteString' || node.type === 'BigInteger') return Buffer.from(node.value).toString('hex')
  if (node.type === 'DateTime') return new Date(node.value * 1000).toISOString()
  return node.type === 'Structure' ? '' : String(node.value)
}
