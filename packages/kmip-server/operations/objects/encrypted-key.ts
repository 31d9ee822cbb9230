import { byteString, type StructureNode, structure, Tag, type TtlvNode } from '@warder/kmip-codec'
import { isEncryptedPkcs8, openPkcs8 } from '@warder/pki'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { rebuildObject } from '../../key-blocks/wrap.ts'
import { findLinkedPassword } from './linked-password.ts'

/**
 * Decrypts a private key that was received as encrypted PKCS#8 (RFC 5958 §3), with the password of the PKCS#12 password
 * link among the attributes. Other objects are returned unchanged.
 * @returns also the bytes, which the caller wipes after reading the key
 * @throws BadPassword (also without a link), InvalidField, FeatureNotSupported
 */
export async function withoutPassword(
  node: StructureNode,
  attributes: readonly TtlvNode[],
  context: KmipContext,
): Promise<{ readonly node: StructureNode; readonly opened: Uint8Array | undefined }> {
  const { format, value } = readKeyBlock(node)
  const encrypted =
    format === 'PKCS_8' && value !== undefined && !(value instanceof Uint8Array)
      ? value.material.value
      : undefined
  if (value === undefined || !(encrypted instanceof Uint8Array) || !isEncryptedPkcs8(encrypted))
    return { node, opened: undefined }
  const password = await findLinkedPassword(context, attributes)
  if (password === undefined)
    throw kmipFailure('BadPassword', 'An encrypted PKCS#8 key needs a PKCS#12 password link to its password.')
  const opened = await openPkcs8(encrypted, password)
  const material = byteString(Tag.KeyMaterial, opened)
  const members = (value as Exclude<typeof value, Uint8Array>).node.value
  const plain = structure(
    Tag.KeyValue,
    members.map((member) => (member.tag === Tag.KeyMaterial ? material : member)),
  )
  const { attributes: within } = value as Exclude<typeof value, Uint8Array>
  return { node: rebuildObject(node, { material, attributes: within, node: plain }), opened }
}
