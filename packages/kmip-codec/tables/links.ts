import { Enumeration } from './enumerations.gen.ts'
import { Tag } from './tags.gen.ts'

const { LinkType } = Enumeration

/** The attribute of 3.0 for each kind of link of 2.x, which has one attribute Link (KMIP 2.1 §4.31). */
const tags: ReadonlyMap<number, number> = new Map([
  [LinkType.CertificateLink, Tag.CertificateLink],
  [LinkType.ChildLink, Tag.ChildLink],
  [LinkType.DerivationBaseObjectLink, Tag.DerivationObjectLink],
  [LinkType.DerivedKeyLink, Tag.DerivedObjectLink],
  [LinkType.NextLink, Tag.NextLink],
  [LinkType.ParentLink, Tag.ParentLink],
  [LinkType.PKCS_12CertificateLink, Tag.PKCS_12CertificateLink],
  [LinkType.PKCS_12PasswordLink, Tag.PKCS_12PasswordLink],
  [LinkType.PreviousLink, Tag.PreviousLink],
  [LinkType.PrivateKeyLink, Tag.PrivateKeyLink],
  [LinkType.PublicKeyLink, Tag.PublicKeyLink],
  [LinkType.ReplacedObjectLink, Tag.ReplacedObjectLink],
  [LinkType.ReplacementObjectLink, Tag.ReplacementObjectLink],
  [LinkType.WrappingKeyLink, Tag.WrappingKeyLink],
])
const types: ReadonlyMap<number, number> = new Map([...tags].map(([type, tag]) => [tag, type]))

/** The tag of 3.0 for a LinkType; undefined for kinds that 3.0 does not have. */
export function linkTag(linkType: number | undefined): number | undefined {
  return linkType === undefined ? undefined : tags.get(linkType)
}

/** The LinkType of a link attribute of 3.0; undefined for other tags. */
export function linkTypeOfTag(tag: number): number | undefined {
  return types.get(tag)
}
