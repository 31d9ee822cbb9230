import {
  type AttributeRow,
  atLeast,
  attributeOf,
  attributes,
  type KmipVersion,
  type OperationName,
  Tag,
  type TagName,
  tagText,
} from '@warder/kmip/tables'
import { kmipFailure } from '../failure/failure.ts'

/** Rules of the standard for an attribute besides its name, type and versions (KMIP 2.1 §4, KMIP 1.4 §3). */
export interface AttributeRule extends AttributeRow {
  /** Names of the object types that may have it. */
  readonly appliesTo: ReadonlySet<string>
  /** Source of its first value. `server`: never a client. `either`: a client may, else the server does. */
  readonly setBy: 'server' | 'client' | 'either'
  /** Every object that it applies to has it, so that it can be neither added nor deleted. */
  readonly always: boolean
  /** A client may add it to an object that exists and does not have it yet. */
  readonly addable: boolean
  /** Operations that give it a value without being asked to. */
  readonly implicitlySetBy: readonly OperationName[]
  /** Has rows in `object_attribute`, so that Locate finds it by index. */
  readonly indexed: boolean
}

const keys = ['SymmetricKey', 'PublicKey', 'PrivateKey', 'SplitKey', 'PGPKey']
const secretKeys = ['SymmetricKey', 'PrivateKey', 'SplitKey', 'SecretData', 'PGPKey']
const certificates = ['Certificate', 'CertificateRequest']
const cryptographic = [...keys, ...certificates, 'SecretData']
const sets = {
  'all and templates': [...cryptographic, 'OpaqueObject', 'Template'],
  all: [...cryptographic, 'OpaqueObject'],
  cryptographic,
  keys,
  'keys and certificates': [...keys, ...certificates],
  'keys and secrets': [...new Set([...keys, ...secretKeys])],
  'asymmetric keys': ['PublicKey', 'PrivateKey', 'PGPKey', ...certificates],
  certificates,
  signed: ['Certificate', 'PGPKey'],
  opaque: ['OpaqueObject'],
} as const
type ObjectSet = keyof typeof sets

const generated: readonly OperationName[] = ['Create', 'CreateKeyPair', 'DeriveKey', 'ReKey', 'ReKeyKeyPair']
const made: readonly OperationName[] = [
  ...generated,
  'Register',
  'Import',
  'Certify',
  'ReCertify',
  'CreateSplitKey',
  'JoinSplitKey',
]
const operations = {
  none: [],
  made,
  generated,
  certified: ['Register', 'Import', 'Certify', 'ReCertify'],
  linked: ['CreateKeyPair', 'DeriveKey', 'Certify', 'ReCertify', 'ReKey', 'ReKeyKeyPair', 'CreateSplitKey'],
  renewed: ['ReKey', 'ReKeyKeyPair', 'ReCertify'],
  activated: [...made, 'Activate'],
  ended: [...made, 'Revoke'],
  revoked: ['Revoke'],
  destroyed: ['Destroy'],
  archived: ['Archive', 'Recover'],
  changed: [
    ...made,
    'Activate',
    'Revoke',
    'Destroy',
    'Archive',
    'Recover',
    'AddAttribute',
    'SetAttribute',
    'ModifyAttribute',
    'DeleteAttribute',
    'AdjustAttribute',
    'GetUsageAllocation',
  ],
  moved: [...made, 'Activate', 'Revoke', 'Destroy'],
  served: [...made, 'Get'],
  used: [...made, 'GetUsageAllocation', 'Encrypt', 'Decrypt', 'Sign', 'MAC'],
} as const satisfies Readonly<Record<string, readonly OperationName[]>>
type Occasion = keyof typeof operations

/** `!` always there, `+` may be added later, `#` indexed. */
type Row = readonly [TagName, ObjectSet, AttributeRule['setBy'], string, Occasion]

/**
 * In the order in which attributes are listed: what identifies an object first, the rest by name. Whether a row is
 * read-only, multi-valued, modifiable or deletable stands in the table of `@warder/kmip/tables`.
 */
const rows: readonly Row[] = [
  ['Attribute', 'all and templates', 'client', '+#', 'none'],
  ['UniqueIdentifier', 'all and templates', 'server', '!', 'made'],
  ['ShortUniqueIdentifier', 'all and templates', 'server', '!', 'made'],
  ['ObjectType', 'all and templates', 'server', '!', 'made'],
  ['CryptographicAlgorithm', 'cryptographic', 'either', '', 'made'],
  ['CryptographicLength', 'cryptographic', 'either', '', 'made'],
  ['ActivationDate', 'all', 'either', '+', 'activated'],
  ['AlternativeName', 'all and templates', 'client', '+#', 'none'],
  ['AlwaysSensitive', 'all', 'server', '!', 'made'],
  ['ApplicationSpecificInformation', 'all and templates', 'either', '+#', 'renewed'],
  ['ArchiveDate', 'all and templates', 'server', '', 'archived'],
  ['CertificateIdentifier', 'certificates', 'server', '', 'certified'],
  ['CertificateIssuer', 'certificates', 'server', '', 'certified'],
  ['CertificateLength', 'certificates', 'server', '', 'certified'],
  ['CertificateSubject', 'certificates', 'server', '', 'certified'],
  ['CertificateType', 'certificates', 'server', '', 'certified'],
  ['Comment', 'all and templates', 'client', '+', 'none'],
  ['CompromiseDate', 'all', 'server', '', 'revoked'],
  ['CompromiseOccurrenceDate', 'all', 'server', '', 'revoked'],
  ['ContactInformation', 'all and templates', 'either', '+#', 'renewed'],
  ['CryptographicDomainParameters', 'asymmetric keys', 'client', '', 'renewed'],
  ['CryptographicParameters', 'cryptographic', 'client', '+', 'renewed'],
  ['CryptographicUsageMask', 'cryptographic', 'either', '!', 'made'],
  ['DeactivationDate', 'all', 'either', '+', 'ended'],
  ['Description', 'all and templates', 'client', '+', 'none'],
  ['DestroyDate', 'all and templates', 'server', '', 'destroyed'],
  ['Digest', 'all', 'server', '', 'made'],
  ['DigitalSignatureAlgorithm', 'signed', 'server', '', 'certified'],
  ['KeyFormatType', 'all', 'either', '', 'made'],
  ['Extractable', 'all', 'either', '!', 'made'],
  ['Fresh', 'all', 'server', '!', 'served'],
  ['InitialDate', 'all and templates', 'server', '!', 'made'],
  ['KeyValueLocation', 'keys and secrets', 'client', '+#', 'none'],
  ['KeyValuePresent', 'keys and secrets', 'server', '', 'made'],
  ['LastChangeDate', 'all and templates', 'server', '!', 'changed'],
  ['LeaseTime', 'all', 'server', '!', 'made'],
  ['Link', 'all', 'either', '+', 'linked'],
  ['Name', 'all and templates', 'client', '+', 'renewed'],
  ['NeverExtractable', 'all', 'server', '!', 'made'],
  ['NISTKeyType', 'keys', 'client', '+', 'none'],
  ['ObjectGroup', 'all and templates', 'either', '+#', 'none'],
  ['OpaqueDataType', 'opaque', 'either', '', 'made'],
  ['OriginalCreationDate', 'all', 'either', '+', 'generated'],
  ['PKCS_12FriendlyName', 'all', 'client', '+#', 'none'],
  ['ProcessStartDate', 'cryptographic', 'either', '+#', 'made'],
  ['ProtectStopDate', 'cryptographic', 'either', '+#', 'made'],
  ['ProtectionLevel', 'cryptographic', 'client', '+', 'none'],
  ['ProtectionPeriod', 'cryptographic', 'client', '+', 'none'],
  ['ProtectionStorageMask', 'all', 'either', '!', 'made'],
  ['ProtectionStorageMasks', 'all', 'either', '', 'none'],
  ['QuantumSafe', 'cryptographic', 'client', '+', 'none'],
  ['RandomNumberGenerator', 'cryptographic', 'server', '', 'generated'],
  ['RevocationReason', 'all', 'server', '', 'revoked'],
  ['RotateAutomatic', 'all', 'client', '+#', 'none'],
  ['RotateDate', 'all', 'server', '', 'renewed'],
  ['RotateGeneration', 'all', 'server', '', 'renewed'],
  ['RotateInterval', 'all', 'client', '+', 'none'],
  ['RotateLatest', 'all', 'server', '', 'renewed'],
  ['RotateName', 'all', 'client', '+#', 'none'],
  ['RotateOffset', 'all', 'client', '+', 'none'],
  ['Sensitive', 'all', 'either', '!', 'made'],
  ['State', 'all', 'server', '!', 'moved'],
  ['UsageLimits', 'cryptographic', 'client', '+', 'used'],
  ['X_509CertificateIdentifier', 'certificates', 'server', '#', 'certified'],
  ['X_509CertificateIssuer', 'certificates', 'server', '#', 'certified'],
  ['X_509CertificateSubject', 'certificates', 'server', '#', 'certified'],
]

function ruleOf([name, set, setBy, flags, occasion]: Row): AttributeRule {
  const row = attributeOf(Tag[name])
  if (row === undefined) throw new Error(`${name} is no attribute of the standard`)
  return {
    ...row,
    appliesTo: new Set<string>(sets[set]),
    setBy,
    always: flags.includes('!'),
    addable: flags.includes('+'),
    implicitlySetBy: operations[occasion],
    indexed: flags.includes('#'),
  }
}

/** The parts of a certificate's names, from the end of the table (KMIP 2.1 §4.6). */
const certificateNameParts = attributes
  .filter(
    ({ name }) => /^Certificate(Subject|Issuer)./.test(name) && attributeOf(Tag[name])?.until === undefined,
  )
  .map(
    ({ name }): Row => [
      name,
      'certificates',
      'server',
      /CN$|SerialNumber$/.test(name) ? '#' : '',
      'certified',
    ],
  )

/** Every attribute that an object can have here, in the order in which they are listed. */
export const attributeRules: readonly AttributeRule[] = [...rows, ...certificateNameParts].map(ruleOf)

const byTag = new Map(attributeRules.map((rule) => [rule.tag, rule]))

/** Does a client of this version not know the attribute any more? */
export function isGoneFrom(version: KmipVersion, { until }: AttributeRule): boolean {
  return until !== undefined && !atLeast(until, version)
}

/** The rule of an attribute by its tag; undefined when the tag is no attribute. */
export function attributeRule(tag: number): AttributeRule | undefined {
  return byTag.get(tag)
}

/** @throws kmipFailure InvalidAttribute */
export function requireRule(tag: number): AttributeRule {
  const rule = attributeRule(tag)
  if (rule === undefined) throw kmipFailure('InvalidAttribute', `${tagText(tag)} is no attribute.`)
  return rule
}
