import {
  type AbeForm,
  abePolicyAttribute,
  abeVendor,
  type CurveName,
  type KeyFormat,
  type ManagedObject,
} from '@warder/keys'
import {
  byteString,
  type DraftObjectType,
  Enumeration,
  enumeration,
  type StructureNode,
  structure,
  Tag,
  type TagName,
  type TtlvNode,
  textString,
  type ValueName,
} from '@warder/kmip-codec'

export type KmipObjectType = Exclude<ValueName<'ObjectType'>, DraftObjectType>
export type CryptographicAlgorithm = ValueName<'CryptographicAlgorithm'>
export type PointCompression = ValueName<'KeyCompressionType'>

/** Facts that are needed besides the bytes to return an object as it was registered. Contains no secrets. */
export interface StoredShape {
  readonly objectType: KmipObjectType
  /**
   * Form of the stored bytes. `canonical`: raw bytes of a secret, PKCS#8, SPKI, the certificate, the opaque data.
   * `block`: the TTLV of the whole object as received, for objects without such a form: wrapped keys, parts of keys,
   * PGP keys, templates.
   */
  readonly form: 'canonical' | 'block'
  /** As registered; undefined for objects without a key block. */
  readonly keyFormat: KeyFormat | undefined
  readonly compression?: PointCompression
  /** Members of a transparent key that were present, if some were omitted. */
  readonly members?: readonly TagName[]
  readonly algorithm?: CryptographicAlgorithm
  /** The only JOSE algorithm of the key, if its encoding contains it. */
  readonly boundAlg?: string
  /** CryptographicLength, in bits. */
  readonly bits?: number
  readonly curve?: CurveName
  readonly qLength?: number
  readonly secretDataType?: number
  readonly opaqueDataType?: number
  readonly certificateType?: ValueName<'CertificateType'>
  readonly certificateRequestType?: ValueName<'CertificateRequestType'>
  /** Set for keys of attribute-based encryption. */
  readonly abe?: AbeForm
  /** true: wrapped by a client before registration, and stored so. */
  readonly wrapped?: true
}

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

/** The vendor attribute with the policy of a user key. */
function policyNode(policy: string): StructureNode {
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, abeVendor),
    textString(Tag.AttributeName, abePolicyAttribute),
    byteString(Tag.AttributeValue, Buffer.from(policy, 'utf8')),
  ])
}
