import { abePolicyAttribute, abeVendor, type ManagedObject } from '@warder/keys'
import {
  byteString,
  Enumeration,
  enumeration,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'

/** The only format of such a key. */
export function abeFormat(
  object: Pick<ManagedObject, 'type'>,
): 'CoverCryptPublicKey' | 'CoverCryptSecretKey' {
  return object.type === 'PublicKey' ? 'CoverCryptPublicKey' : 'CoverCryptSecretKey'
}

/** Attributes derived from the form of an attribute-based key; none for other objects. No client can change them. */
export function abeAttributes(object: Pick<ManagedObject, 'form' | 'type'>): readonly TtlvNode[] {
  const { abe } = object.form
  if (abe === undefined) return []
  const format = enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType[abeFormat(object)])
  const digest = structure(Tag.Digest, [
    enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
    byteString(Tag.DigestValue, Buffer.from(abe.digest, 'base64url')),
    format,
  ])
  return [format, digest, ...(abe.policy === undefined ? [] : [policyNode(abe.policy)])]
}

/** The vendor attribute that holds the policy of a user key. */
function policyNode(policy: string): StructureNode {
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, abeVendor),
    textString(Tag.AttributeName, abePolicyAttribute),
    byteString(Tag.AttributeValue, Buffer.from(policy, 'utf8')),
  ])
}
