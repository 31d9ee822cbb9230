import { type AttributeMembers, readStoredWithTag } from '@warder/keys'
import { findMember, findMembers, type StructureNode, structure, Tag, textString } from '@warder/kmip-codec'
import { generalNameText, nameText } from '@warder/pki'

/**
 * Certificate attributes that are text in 1.x (KMIP 1.0 §3.9 to §3.11), derived from the stored DER. The standard does
 * not define the text: names are as in RFC 4514, serial numbers hexadecimal, alternative names as Certify accepts them.
 */
export function certificateIdentifier(object: AttributeMembers): StructureNode | undefined {
  const stored = findStoredStructure(object, Tag.X_509CertificateIdentifier)
  if (stored === undefined) return undefined
  return structure(Tag.CertificateIdentifier, [
    textString(Tag.Issuer, nameIn(stored, Tag.IssuerDistinguishedName)),
    textString(Tag.SerialNumber, serialText(bytesIn(stored, Tag.CertificateSerialNumber))),
  ])
}

export function certificateSubject(object: AttributeMembers): StructureNode | undefined {
  const stored = findStoredStructure(object, Tag.X_509CertificateSubject)
  if (stored === undefined) return undefined
  return structure(Tag.CertificateSubject, [
    textString(Tag.CertificateSubjectDistinguishedName, nameIn(stored, Tag.SubjectDistinguishedName)),
    ...alternativeNames(stored, Tag.SubjectAlternativeName, Tag.CertificateSubjectAlternativeName),
  ])
}

export function certificateIssuer(object: AttributeMembers): StructureNode | undefined {
  const stored = findStoredStructure(object, Tag.X_509CertificateIssuer)
  if (stored === undefined) return undefined
  return structure(Tag.CertificateIssuer, [
    textString(Tag.CertificateIssuerDistinguishedName, nameIn(stored, Tag.IssuerDistinguishedName)),
    ...alternativeNames(stored, Tag.IssuerAlternativeName, Tag.CertificateIssuerAlternativeName),
  ])
}

function findStoredStructure(object: AttributeMembers, tag: number): StructureNode | undefined {
  const [node] = readStoredWithTag(object, tag)
  return node?.type === 'Structure' ? node : undefined
}

function bytesIn(stored: StructureNode, tag: number): Uint8Array {
  const member = findMember(stored, tag)
  return member?.type === 'ByteString' ? member.value : new Uint8Array()
}

function nameIn(stored: StructureNode, tag: number): string {
  return nameText(bytesIn(stored, tag))
}

function alternativeNames(stored: StructureNode, tag: number, textTag: number) {
  return findMembers(stored, tag).flatMap((name) =>
    name.type === 'ByteString' ? [textString(textTag, generalNameText(name.value))] : [],
  )
}

/** Without the leading zero byte that only marks the number as not negative. */
function serialText(content: Uint8Array): string {
  const magnitude = content[0] === 0 && content.length > 1 ? content.subarray(1) : content
  return Buffer.from(magnitude).toString('hex').toUpperCase()
}
