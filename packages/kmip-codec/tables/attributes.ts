import type { ItemType } from './enumerations.ts'
import { normaliseName } from './names.ts'
import { Tag } from './tags.gen.ts'
import type { TagName } from './tags.ts'
import { atLeast, type KmipVersion } from './versions.ts'

/** An attribute of managed objects (KMIP 2.1 §4, KMIP 1.4 §3). */
export interface AttributeRow {
  readonly name: TagName
  readonly tag: number
  /** Its name in 1.x, such as `Cryptographic Algorithm`; undefined for attributes that 1.x does not have. */
  readonly legacyName: string | undefined
  readonly type: ItemType
  /** An object may have several instances of it. */
  readonly multiple: boolean
  /** Only the server sets it: a client may not set, add, modify or delete it. */
  readonly readOnly: boolean
  /** A client may change its value (some attributes only in certain states). */
  readonly modifiable: boolean
  /** A client may delete it. */
  readonly deletable: boolean
  readonly since: KmipVersion
  /** The last version that has it; undefined if 2.1 has it. */
  readonly until: KmipVersion | undefined
}

/** One row a line: name, 1.x name, type, flags (`*` multiple, `r` read-only, `m` modifiable, `d` deletable), since, until. */
type Row = readonly [TagName, string | undefined, ItemType, string, KmipVersion, KmipVersion?]

const rows = [
  ['UniqueIdentifier', 'Unique Identifier', 'TextString', 'r', '1.0'],
  ['Name', 'Name', 'Structure', '*md', '1.0'],
  ['ObjectType', 'Object Type', 'Enumeration', 'r', '1.0'],
  ['CryptographicAlgorithm', 'Cryptographic Algorithm', 'Enumeration', '', '1.0'],
  ['CryptographicLength', 'Cryptographic Length', 'Integer', '', '1.0'],
  ['CryptographicParameters', 'Cryptographic Parameters', 'Structure', '*md', '1.0'],
  ['CryptographicDomainParameters', 'Cryptographic Domain Parameters', 'Structure', '', '1.0'],
  ['CertificateType', 'Certificate Type', 'Enumeration', 'r', '1.0'],
  ['CertificateLength', 'Certificate Length', 'Integer', 'r', '1.1'],
  ['X_509CertificateIdentifier', 'X.509 Certificate Identifier', 'Structure', 'r', '1.1'],
  ['X_509CertificateSubject', 'X.509 Certificate Subject', 'Structure', 'r', '1.1'],
  ['X_509CertificateIssuer', 'X.509 Certificate Issuer', 'Structure', 'r', '1.1'],
  ['CertificateIdentifier', 'Certificate Identifier', 'Structure', 'r', '1.0', '1.4'],
  ['CertificateSubject', 'Certificate Subject', 'Structure', 'r', '1.0', '1.4'],
  ['CertificateIssuer', 'Certificate Issuer', 'Structure', 'r', '1.0', '1.4'],
  ['DigitalSignatureAlgorithm', 'Digital Signature Algorithm', 'Enumeration', '*r', '1.1'],
  ['Digest', 'Digest', 'Structure', '*r', '1.0'],
  ['OperationPolicyName', 'Operation Policy Name', 'TextString', '', '1.0', '1.4'],
  ['CryptographicUsageMask', 'Cryptographic Usage Mask', 'Integer', '', '1.0'],
  ['LeaseTime', 'Lease Time', 'Interval', 'r', '1.0'],
  ['UsageLimits', 'Usage Limits', 'Structure', 'md', '1.0'],
  ['State', 'State', 'Enumeration', 'r', '1.0'],
  ['InitialDate', 'Initial Date', 'DateTime', 'r', '1.0'],
  ['ActivationDate', 'Activation Date', 'DateTime', 'm', '1.0'],
  ['ProcessStartDate', 'Process Start Date', 'DateTime', 'm', '1.0'],
  ['ProtectStopDate', 'Protect Stop Date', 'DateTime', 'm', '1.0'],
  ['DeactivationDate', 'Deactivation Date', 'DateTime', 'm', '1.0'],
  ['DestroyDate', 'Destroy Date', 'DateTime', 'r', '1.0'],
  ['CompromiseOccurrenceDate', 'Compromise Occurrence Date', 'DateTime', 'r', '1.0'],
  ['CompromiseDate', 'Compromise Date', 'DateTime', 'r', '1.0'],
  ['RevocationReason', 'Revocation Reason', 'Structure', 'r', '1.0'],
  ['ArchiveDate', 'Archive Date', 'DateTime', 'r', '1.0'],
  ['ObjectGroup', 'Object Group', 'TextString', '*md', '1.0'],
  ['Fresh', 'Fresh', 'Boolean', 'r', '1.1'],
  ['Link', 'Link', 'Structure', '*md', '1.0'],
  ['ApplicationSpecificInformation', 'Application Specific Information', 'Structure', '*md', '1.0'],
  ['ContactInformation', 'Contact Information', 'TextString', 'md', '1.0'],
  ['LastChangeDate', 'Last Change Date', 'DateTime', 'r', '1.0'],
  ['AlternativeName', 'Alternative Name', 'Structure', '*md', '1.2'],
  ['KeyValuePresent', 'Key Value Present', 'Boolean', 'r', '1.2'],
  ['KeyValueLocation', 'Key Value Location', 'Structure', '*md', '1.2'],
  ['OriginalCreationDate', 'Original Creation Date', 'DateTime', '', '1.2'],
  ['RandomNumberGenerator', 'Random Number Generator', 'Structure', 'r', '1.3'],
  ['PKCS_12FriendlyName', 'PKCS#12 Friendly Name', 'TextString', 'md', '1.4'],
  ['Description', 'Description', 'TextString', 'md', '1.4'],
  ['Comment', 'Comment', 'TextString', 'md', '1.4'],
  ['Sensitive', 'Sensitive', 'Boolean', 'm', '1.4'],
  ['AlwaysSensitive', 'Always Sensitive', 'Boolean', 'r', '1.4'],
  ['Extractable', 'Extractable', 'Boolean', 'm', '1.4'],
  ['NeverExtractable', 'Never Extractable', 'Boolean', 'r', '1.4'],
  ['KeyFormatType', undefined, 'Enumeration', '', '2.0'],
  ['OpaqueDataType', undefined, 'Enumeration', '', '2.0'],
  ['ShortUniqueIdentifier', undefined, 'ByteString', 'r', '2.0'],
  ['NISTKeyType', undefined, 'Enumeration', '*md', '2.0'],
  ['ProtectionLevel', undefined, 'Enumeration', 'md', '2.0'],
  ['ProtectionPeriod', undefined, 'Interval', 'md', '2.0'],
  ['ProtectionStorageMask', undefined, 'Integer', '', '2.0'],
  ['ProtectionStorageMasks', undefined, 'Structure', '', '2.0'],
  ['QuantumSafe', undefined, 'Boolean', 'md', '2.0'],
  ['RotateInterval', undefined, 'Interval', 'md', '2.1'],
  ['RotateAutomatic', undefined, 'Boolean', 'md', '2.1'],
  ['RotateOffset', undefined, 'Interval', 'md', '2.1'],
  ['RotateDate', undefined, 'DateTime', 'r', '2.1'],
  ['RotateGeneration', undefined, 'Integer', 'r', '2.1'],
  ['RotateName', undefined, 'TextString', 'md', '2.1'],
  ['RotateLatest', undefined, 'Boolean', 'r', '2.1'],
  ['ObjectClass', undefined, 'Enumeration', 'r', '3.0'],
  /** The vendor attribute: {VendorIdentification, AttributeName, AttributeValue}. 1.x names it `x-…` or `y-…`. */
  ['Attribute', undefined, 'Structure', '*md', '2.0'],
] as const satisfies readonly Row[]

const nameParts = [
  'CN',
  'O',
  'OU',
  'Email',
  'C',
  'ST',
  'L',
  'UID',
  'SerialNumber',
  'Title',
  'DC',
  'DNQualifier',
] as const

/** Since 2.0 each part of a certificate's names is a separate attribute (KMIP 2.1 §4.6). */
export type CertificateNamePart = `Certificate${'Subject' | 'Issuer'}${(typeof nameParts)[number]}`

const certificateNameParts: readonly Row[] = (['Subject', 'Issuer'] as const).flatMap((of) =>
  nameParts.map((part): Row => [`Certificate${of}${part}`, undefined, 'TextString', 'r', '2.0']),
)

/** Item type of each attribute by its name. */
export type AttributeTypes = { readonly [Row in (typeof rows)[number] as Row[0]]: Row[2] } & {
  readonly [Name in CertificateNamePart]: 'TextString'
}

/** Every attribute, in the order of the standard. */
export const attributes: readonly AttributeRow[] = [...rows, ...certificateNameParts].map(
  ([name, legacyName, type, flags, since, until]) => ({
    name,
    tag: Tag[name],
    legacyName,
    type,
    multiple: flags.includes('*'),
    readOnly: flags.includes('r'),
    modifiable: flags.includes('m'),
    deletable: flags.includes('d'),
    since,
    until,
  }),
)

const byTag = new Map(attributes.map((row) => [row.tag, row]))
const byLegacyName = new Map<string, AttributeRow>()
for (const row of attributes)
  if (row.legacyName !== undefined) byLegacyName.set(normaliseName(row.legacyName), row)

/** The attribute of a tag; undefined for other tags. */
export function findAttribute(tag: number): AttributeRow | undefined {
  return byTag.get(tag)
}

/** The attribute with this 1.x name (`Cryptographic Algorithm`, in any spelling), or undefined. */
export function attributeByLegacyName(name: string): AttributeRow | undefined {
  return name.length > 128 ? undefined : byLegacyName.get(normaliseName(name))
}

/** Whether a version has this attribute. */
export function attributeIn(version: KmipVersion, row: AttributeRow): boolean {
  return atLeast(version, row.since) && (row.until === undefined || atLeast(row.until, version))
}
