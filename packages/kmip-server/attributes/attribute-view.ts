import {
  type AttributeMembers,
  type AttributeRule,
  attributeRule,
  attributeRules,
  defaultAlgorithm,
  defaultLease,
  type ManagedObject,
  readStoredAttributes,
  readStoredWithTag,
  shortIdentifier,
  stateAt,
} from '@warder/keys'
import {
  atLeast,
  boolean,
  byteString,
  dateTime,
  draftVersion,
  Enumeration,
  enumeration,
  findMember,
  findMembers,
  integer,
  interval,
  type KmipVersion,
  type StructureNode,
  sameValue,
  structure,
  Tag,
  type TtlvNode,
  textString,
  valueByName,
} from '@warder/kmip-codec'
import { generalNameText, nameText } from '@warder/pki'
import { keyFormatNumber } from '../key-blocks/key-format.ts'
import { readShape } from '../key-blocks/object-shape.ts'
import { abeAttributes } from '../key-blocks/stored-shape.ts'
import { tagsNode, withholdingAttributes, wrappingAttribute } from './attribute-vendor.ts'

/** The sources of the attributes of an object. */
export interface AttributeState {
  readonly object: ManagedObject
  /** Tags of the object, including internal ones of the service (`_…`). */
  readonly tags: readonly string[]
}

/**
 * Every attribute that the object has at `now`, as nodes of 2.x, in the order of `attributeRules`. Attributes with a
 * column are read from it, the others are as stored. Attributes that the standard requires of every object are included
 * even if they are not stored. Attributes that later versions removed are included only for clients of the older
 * versions.
 * @param now Unix milliseconds
 */
export function listAttributes(
  state: AttributeState,
  now: number,
  version: KmipVersion = '2.1',
): readonly TtlvNode[] {
  const stored = groupByTag(readStoredAttributes(state.object))
  return attributeRules.flatMap((rule) =>
    rule.appliesTo.has(state.object.type) && !isGoneFrom(version, rule) && !isLaterThan(version, rule)
      ? instances(state, rule.tag, stored.get(rule.tag) ?? [], now)
      : [],
  )
}

/** The instances of one attribute, in their order; as `listAttributes` has them. */
export function attributeInstances(state: AttributeState, tag: number, now: number): readonly TtlvNode[] {
  if (attributeRule(tag)?.appliesTo.has(state.object.type) !== true) return []
  const stored = readStoredAttributes(state.object).filter((node) => node.tag === tag)
  return instances(state, tag, stored, now)
}

function instances(
  state: AttributeState,
  tag: number,
  stored: readonly TtlvNode[],
  now: number,
): readonly TtlvNode[] {
  if (tag === Tag.Attribute) {
    const tags = tagsNode(state.tags.filter((name) => !name.startsWith('_')))
    const all = [
      ...stored,
      ...abeAttributes(state.object).filter((node) => node.tag === tag),
      ...withholdingAttributes(state.object),
      ...wrappingAttribute(state.object),
    ]
    return tags === undefined ? all : [...all, tags]
  }
  if (tag === Tag.Link) {
    const other = linkToOtherHalf(state.object)
    // First, so that its index in 1.x does not change when others are added (KMIP 1.4 §2.1.1).
    return other === undefined || stored.some((node) => sameValue(node, other)) ? stored : [other, ...stored]
  }
  const column = fromColumns.get(tag)
  if (column !== undefined) return toList(column(state.object, now))
  return stored.length > 0 ? stored : toList(otherwise.get(tag)?.(state.object, now))
}

function toList(node: TtlvNode | undefined): readonly TtlvNode[] {
  return node === undefined ? [] : [node]
}

function groupByTag(nodes: readonly TtlvNode[]): ReadonlyMap<number, readonly TtlvNode[]> {
  const groups = new Map<number, TtlvNode[]>()
  for (const node of nodes) {
    const group = groups.get(node.tag)
    if (group === undefined) groups.set(node.tag, [node])
    else group.push(node)
  }
  return groups
}

type FromObject = (object: ManagedObject, now: number) => TtlvNode | undefined

const date =
  (tag: number, of: (object: ManagedObject) => number | undefined) =>
  (object: ManagedObject): TtlvNode | undefined => {
    const at = of(object)
    return at === undefined ? undefined : dateTime(tag, Math.floor(at / 1000))
  }

/** Attributes that are columns of the row, and never stored elsewhere. */
const fromColumns: ReadonlyMap<number, FromObject> = new Map<number, FromObject>([
  [Tag.UniqueIdentifier, ({ id }) => textString(Tag.UniqueIdentifier, id)],
  [Tag.ShortUniqueIdentifier, ({ id }) => byteString(Tag.ShortUniqueIdentifier, shortIdentifier(id))],
  [Tag.ObjectType, ({ type }) => enumeration(Tag.ObjectType, Enumeration.ObjectType[type])],
  // Objects of class System belong to the server itself, which shows none.
  [Tag.ObjectClass, () => enumeration(Tag.ObjectClass, Enumeration.ObjectClass.User)],
  [
    Tag.CryptographicLength,
    ({ bits }) => (bits === undefined ? undefined : integer(Tag.CryptographicLength, bits)),
  ],
  [Tag.CryptographicUsageMask, ({ usageMask }) => integer(Tag.CryptographicUsageMask, usageMask)],
  [
    Tag.State,
    (object, now) =>
      enumeration(Tag.State, valueByName('State', stateAt(object, now)) ?? Enumeration.State.PreActive),
  ],
  [Tag.InitialDate, date(Tag.InitialDate, ({ createdAt }) => createdAt)],
  [Tag.LastChangeDate, date(Tag.LastChangeDate, ({ changedAt }) => changedAt)],
  [Tag.ActivationDate, date(Tag.ActivationDate, ({ activationAt }) => activationAt)],
  [Tag.DeactivationDate, date(Tag.DeactivationDate, ({ deactivationAt }) => deactivationAt)],
  [Tag.CompromiseDate, date(Tag.CompromiseDate, ({ compromisedAt }) => compromisedAt)],
  [Tag.DestroyDate, date(Tag.DestroyDate, ({ destroyedAt }) => destroyedAt)],
  [Tag.ArchiveDate, date(Tag.ArchiveDate, ({ archivedAt }) => archivedAt)],
  [Tag.RevocationReason, revocationReason],
])

/** Computed values of attributes that are not stored, such as those of keys created over REST. */
const otherwise: ReadonlyMap<number, FromObject> = new Map<number, FromObject>([
  [Tag.CertificateIdentifier, certificateIdentifier],
  [Tag.CertificateIssuer, certificateIssuer],
  [Tag.CertificateSubject, certificateSubject],
  [Tag.CryptographicAlgorithm, defaultAlgorithm],
  [Tag.CryptographicDomainParameters, domainParameters],
  [Tag.KeyFormatType, keyFormat],
  [Tag.Digest, (object) => abeAttributes(object).find(({ tag }) => tag === Tag.Digest)],
  [Tag.Fresh, () => boolean(Tag.Fresh, true)],
  [Tag.LeaseTime, () => interval(Tag.LeaseTime, defaultLease)],
  [Tag.ProtectionStorageMask, ({ form }) => integer(Tag.ProtectionStorageMask, toStorageMask(form.hsm))],
  [Tag.Sensitive, () => boolean(Tag.Sensitive, false)],
  [Tag.AlwaysSensitive, () => boolean(Tag.AlwaysSensitive, false)],
  [Tag.Extractable, () => boolean(Tag.Extractable, true)],
  [Tag.NeverExtractable, () => boolean(Tag.NeverExtractable, false)],
  [
    Tag.RotateName,
    ({ chainId }) => (chainId === undefined ? undefined : textString(Tag.RotateName, chainId)),
  ],
  [
    Tag.RotateGeneration,
    ({ chainId, generation }) =>
      chainId === undefined ? undefined : integer(Tag.RotateGeneration, generation),
  ],
  [
    Tag.RotateLatest,
    ({ chainId, supersededAt }) =>
      chainId === undefined ? undefined : boolean(Tag.RotateLatest, supersededAt === undefined),
  ],
  [
    Tag.RotateDate,
    ({ generation, createdAt }) =>
      generation === 0 ? undefined : dateTime(Tag.RotateDate, Math.floor(createdAt / 1000)),
  ],
])

/** Hardware requires that the HSM reported that the key was generated in it and never left it. */
function toStorageMask(hsm: ManagedObject['form']['hsm']): number {
  const { Software, Hardware, OffSystem } = Enumeration.ProtectionStorageMask
  if (hsm === undefined) return Software
  return hsm.hardware ? Hardware : OffSystem
}

function domainParameters({ curve }: ManagedObject): StructureNode | undefined {
  const value = curve === undefined ? undefined : valueByName('RecommendedCurve', curve)
  if (value === undefined) return undefined
  return structure(Tag.CryptographicDomainParameters, [enumeration(Tag.RecommendedCurve, value)])
}

/** The default format of Get, if the request names none and none was registered (KMIP 2.1 §4.26). */
function keyFormat(object: ManagedObject): TtlvNode | undefined {
  const { keyFormat: format } = readShape(object)
  return format === undefined ? undefined : enumeration(Tag.KeyFormatType, keyFormatNumber(format))
}

/**
 * The link that clients see for the column that connects the halves of a key pair; undefined for an object that is not
 * part of a pair, or whose link a client deleted.
 */
export function linkToOtherHalf({
  type,
  linkedId,
}: Pick<ManagedObject, 'type' | 'linkedId'>): StructureNode | undefined {
  if (linkedId === undefined) return undefined
  const value = halfLink(type)
  if (value === undefined) return undefined
  return structure(Tag.Link, [
    enumeration(Tag.LinkType, value),
    textString(Tag.LinkedObjectIdentifier, linkedId),
  ])
}

/** The type of the link that leads from one half of a pair to the other. */
export function halfLink(type: ManagedObject['type']): number | undefined {
  if (type === 'PrivateKey') return Enumeration.LinkType.PublicKeyLink
  return type === 'PublicKey' ? Enumeration.LinkType.PrivateKeyLink : undefined
}

function revocationReason({
  revocationReason: name,
  revocationMessage,
}: ManagedObject): TtlvNode | undefined {
  if (name === undefined) return undefined
  return structure(Tag.RevocationReason, [
    enumeration(
      Tag.RevocationReasonCode,
      valueByName('RevocationReasonCode', name) ?? Enumeration.RevocationReasonCode.Unspecified,
    ),
    revocationMessage === undefined ? undefined : textString(Tag.RevocationMessage, revocationMessage),
  ])
}

/**
 * Is the attribute one of 3.0 alone, for a client of another version? (The message layer removes what is newer than 1.x
 * and 2.0.)
 */
export function isLaterThan(version: KmipVersion, { since }: AttributeRule): boolean {
  return since === draftVersion && version !== draftVersion
}

/** Is the attribute removed from this version? */
export function isGoneFrom(version: KmipVersion, { until }: AttributeRule): boolean {
  return until !== undefined && !atLeast(until, version)
}

/**
 * Certificate attributes that are text in 1.x (KMIP 1.0 §3.9 to §3.11), derived from the stored DER. The standard does
 * not define the text: names are as in RFC 4514, serial numbers hexadecimal, alternative names as Certify accepts them.
 */
function certificateIdentifier(object: AttributeMembers): StructureNode | undefined {
  const stored = findStoredStructure(object, Tag.X_509CertificateIdentifier)
  if (stored === undefined) return undefined
  return structure(Tag.CertificateIdentifier, [
    textString(Tag.Issuer, nameIn(stored, Tag.IssuerDistinguishedName)),
    textString(Tag.SerialNumber, serialText(bytesIn(stored, Tag.CertificateSerialNumber))),
  ])
}

function certificateSubject(object: AttributeMembers): StructureNode | undefined {
  const stored = findStoredStructure(object, Tag.X_509CertificateSubject)
  if (stored === undefined) return undefined
  return structure(Tag.CertificateSubject, [
    textString(Tag.CertificateSubjectDistinguishedName, nameIn(stored, Tag.SubjectDistinguishedName)),
    ...alternativeNames(stored, Tag.SubjectAlternativeName, Tag.CertificateSubjectAlternativeName),
  ])
}

function certificateIssuer(object: AttributeMembers): StructureNode | undefined {
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
