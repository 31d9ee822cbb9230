import type { CertificateToKeep } from '@warder/authority'
import { linkNode, type NewObject, readVendorName } from '@warder/keys'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  findAttribute,
  findMember,
  findMembers,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import {
  derMembers,
  type Extension,
  type NamePart,
  nameFromParts,
  opensslExtensions,
  subjectAltName,
} from '@warder/pki'
import type { KmipContext } from '../../engine/types.ts'
import { kmipFailure } from '../../failure/failure.ts'
import { readManagedObject } from '../../key-blocks/read-object.ts'
import { newBrought } from '../objects/registered-object.ts'

/** The requested certificate, from the attributes of Certify and ReCertify. */
export interface CertificateWish {
  /** DER of the subject's name, when the attributes give one. */
  readonly subject: Uint8Array | undefined
  /** In the syntax of OpenSSL, or as alternative names; undefined when the request has none. */
  readonly extensions: readonly Extension[] | undefined
  /** Days of validity. */
  readonly days: number | undefined
  /** Links to the key and the certificate of the requested issuer. */
  readonly issuerKey: string | undefined
  readonly issuerCertificate: string | undefined
  /** Attributes of the new object. */
  readonly attributes: readonly TtlvNode[]
}

/** Vendor attributes with which clients of other servers set validity and extensions, under any vendor name. */
const validityDays = 'requested_validity_days'
const extensionText = 'x509-extension'
const maxValidityDays = 36_500

/** @throws InvalidField */
export function readCertificateWish(attributes: readonly TtlvNode[]): CertificateWish {
  const parts: [NamePart, string][] = []
  const rest: TtlvNode[] = []
  let days: number | undefined
  let extensions: readonly Extension[] | undefined
  let subject: Uint8Array | undefined
  let names: readonly Uint8Array[] = []
  let issuerKey: string | undefined
  let issuerCertificate: string | undefined
  for (const node of attributes) {
    const part = subjectPart(node)
    const vendor = node.tag === Tag.Attribute ? readVendorName(node)?.name : undefined
    if (part !== undefined) parts.push(part)
    else if (vendor === validityDays) days = daysIn(node)
    else if (vendor === extensionText) extensions = opensslExtensions(textIn(node))
    else if (node.tag === Tag.X_509CertificateSubject && node.type === 'Structure') {
      subject = readBytes(findMember(node, Tag.SubjectDistinguishedName))
      names = findMembers(node, Tag.SubjectAlternativeName).map(readBytes)
    } else if (issuerLink(node) === 'key') issuerKey = readLinkedId(node)
    else if (issuerLink(node) === 'certificate') issuerCertificate = readLinkedId(node)
    else if (!isSettled(node)) rest.push(node)
  }
  if (names.length > 0) extensions = [...(extensions ?? []), subjectAltName(names)]
  if (subject !== undefined) derMembers(subject, 'SubjectDistinguishedName')
  const filled = parts.filter(([, value]) => value !== '')
  return {
    subject: filled.length > 0 ? nameFromParts(filled) : subject,
    extensions,
    days,
    issuerKey,
    issuerCertificate,
    attributes: rest,
  }
}

/** CertificateSubjectCN and the like. */
function subjectPart(node: TtlvNode): [NamePart, string] | undefined {
  const name = findAttribute(node.tag)?.name
  if (name?.startsWith('CertificateSubject') !== true || node.type !== 'TextString') return undefined
  return [name.slice('CertificateSubject'.length) as NamePart, node.value]
}

/** Determined by the certificate itself; the issuer determines the parts of its own name. */
function isSettled({ tag }: TtlvNode): boolean {
  return (
    tag === Tag.CertificateType ||
    tag === Tag.ObjectType ||
    findAttribute(tag)?.name.startsWith('CertificateIssuer') === true
  )
}

function issuerLink(node: TtlvNode): 'key' | 'certificate' | undefined {
  if (node.tag !== Tag.Link || node.type !== 'Structure') return undefined
  switch (findMember(node, Tag.LinkType)?.value) {
    case Enumeration.LinkType.PrivateKeyLink:
      return 'key'
    case Enumeration.LinkType.CertificateLink:
      return 'certificate'
    default:
      return undefined
  }
}

function readLinkedId(node: TtlvNode): string | undefined {
  const id = node.type === 'Structure' ? findMember(node, Tag.LinkedObjectIdentifier) : undefined
  return id?.type === 'TextString' ? id.value : undefined
}

function valueIn(node: TtlvNode): TtlvNode | undefined {
  return node.type === 'Structure' ? findMember(node, Tag.AttributeValue) : undefined
}

function daysIn(node: TtlvNode): number {
  const value = valueIn(node)?.value
  const days = typeof value === 'string' ? Number(value) : value
  if (typeof days !== 'number' || !Number.isInteger(days) || days < 1 || days > maxValidityDays)
    throw kmipFailure('InvalidField', `${validityDays} must be a number of days, at most ${maxValidityDays}.`)
  return days
}

function textIn(node: TtlvNode): string {
  const value = valueIn(node)
  if (value?.type === 'TextString') return value.value
  if (value?.type === 'ByteString') return Buffer.from(value.value).toString('utf8')
  throw kmipFailure('InvalidField', `${extensionText} must be text.`)
}

function readBytes(node: TtlvNode | undefined): Uint8Array {
  if (node?.type !== 'ByteString') throw kmipFailure('InvalidField', 'A name of the certificate is not DER.')
  return node.value
}

/** Creates the object of an issued certificate, with the attributes of the request. */
export function certificateMaker(
  context: KmipContext,
  attributes: readonly TtlvNode[],
): (certificate: CertificateToKeep) => Promise<NewObject> {
  return async ({ der, notBefore, notAfter, links }) => {
    const node = structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, der),
    ])
    const stored = await readManagedObject('Certificate', node, {}, { fips: context.services.fips })
    return newBrought(context, stored, [
      ...attributes.filter(({ tag }) => !replaced.has(tag)),
      dateTime(Tag.ActivationDate, Math.floor(notBefore / 1000)),
      dateTime(Tag.DeactivationDate, Math.floor(notAfter / 1000)),
      ...links.map(linkNode),
    ])
  }
}

/** Attributes that the certificate itself determines. */
const replaced: ReadonlySet<number> = new Set([
  Tag.ActivationDate,
  Tag.DeactivationDate,
  Tag.CryptographicAlgorithm,
  Tag.CryptographicLength,
  Tag.CryptographicDomainParameters,
])
