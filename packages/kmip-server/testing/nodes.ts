import {
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'

const { CryptographicUsageMask: use } = Enumeration

export function uid(id: string): TtlvNode {
  return textString(Tag.UniqueIdentifier, id)
}

export function objectType(type: keyof typeof Enumeration.ObjectType): TtlvNode {
  return enumeration(Tag.ObjectType, Enumeration.ObjectType[type])
}

export function attributes(...nodes: readonly TtlvNode[]): TtlvNode {
  return structure(Tag.Attributes, nodes)
}

/** Attributes with which Create makes an AES key that encrypts, with `more`. */
export function aesAttributes(bits = 256, ...more: readonly TtlvNode[]): TtlvNode {
  return attributes(
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
    integer(Tag.CryptographicLength, bits),
    integer(Tag.CryptographicUsageMask, use.Encrypt | use.Decrypt),
    ...more,
  )
}

/** An attribute of a vendor. */
export function vendorAttribute(vendor: string, name: string, value: TtlvNode): TtlvNode {
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, name),
    value,
  ])
}
