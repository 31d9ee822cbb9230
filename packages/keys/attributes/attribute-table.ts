import { type AttributeRow, type AttributeTypes, attributes, type ItemType } from '@warder/kmip-codec'

/**
 * An attribute, or a member of one, in its stored form: the JSON form of KMIP Profiles 2.1 §5.5. Enumerations are names
 * (`0x…` if a value has none), bytes are hexadecimal, dates are RFC 3339 in UTC.
 */
export interface StoredValue {
  /** Name of the attribute or of the member; `0x…` if the tag has none. */
  readonly tag: string
  readonly type: string
  readonly value: string | number | boolean | readonly StoredValue[]
}

/** Attributes of managed objects, by their names in KMIP 2.1 §4 and KMIP 1.4 §3. */
export type AttributeName = Exclude<keyof AttributeTypes, 'OperationPolicyName'>

interface ValueTypes {
  readonly Boolean: boolean
  readonly Integer: number
  /** Seconds. */
  readonly Interval: number
  /** Unix milliseconds. */
  readonly DateTime: number
  /** The name of the value; that of a vendor as `0x8…`. */
  readonly Enumeration: string
  readonly TextString: string
  readonly ByteString: Uint8Array
  readonly Structure: readonly StoredValue[]
}

/** Type of the value of each attribute. */
export type AttributeValues = { readonly [Name in AttributeName]: ValueTypes[AttributeTypes[Name]] }

/** The type of an attribute, which parties may set it, and on which objects. */
export interface AttributeRule extends AttributeRow {
  readonly name: AttributeName
  /** Names of the object types that may have it. */
  readonly appliesTo: ReadonlySet<string>
  /** Source of its first value. `server`: never a client. `either`: a client may, else the server does. */
  readonly setBy: 'server' | 'client' | 'either'
  /** Every object that it applies to has it, so that it can be neither added nor deleted. */
  readonly always: boolean
  /** A client may add it to an object that exists and does not have it yet. */
  readonly addable: boolean
  /** Has rows in `object_attribute`, so that objects are found by it. */
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

/** Flags: `!` always there, `+` may be added later, `#` indexed. */
type Row = readonly [AttributeName, ObjectSet, AttributeRule['setBy'], flags: string]

/**
 * In the order in which attributes are listed: identifiers first, the rest by name. The type of a row, and whether it
 * is read-only, multi-valued, modifiable or deletable, are in the standard's table (`@warder/kmip-codec`).
 */
const rows: readonly Row[] = [
  ['Attribute', 'all and templates', 'client', '+#'],
  ['UniqueIdentifier', 'all and templates', 'server', '!'],
  ['ShortUniqueIdentifier', 'all and templates', 'server', '!'],
  ['ObjectType', 'all and templates', 'server', '!'],
  ['CryptographicAlgorithm', 'cryptographic', 'either', ''],
  ['CryptographicLength', 'cryptographic', 'either', ''],
  ['ActivationDate', 'all', 'either', '+'],
  ['AlternativeName', 'all and templates', 'client', '+#'],
  ['AlwaysSensitive', 'all', 'server', '!'],
  ['ApplicationSpecificInformation', 'all and templates', 'either', '+#'],
  ['ArchiveDate', 'all and templates', 'server', ''],
  ['CertificateIdentifier', 'certificates', 'server', ''],
  ['CertificateIssuer', 'certificates', 'server', ''],
  ['CertificateLength', 'certificates', 'server', ''],
  ['CertificateSubject', 'certificates', 'server', ''],
  ['CertificateType', 'certificates', 'server', ''],
  ['Comment', 'all and templates', 'client', '+'],
  ['CompromiseDate', 'all', 'server', ''],
  ['CompromiseOccurrenceDate', 'all', 'server', ''],
  ['ContactInformation', 'all and templates', 'either', '+#'],
  ['CryptographicDomainParameters', 'asymmetric keys', 'client', ''],
  ['CryptographicParameters', 'cryptographic', 'client', '+'],
  ['CryptographicUsageMask', 'cryptographic', 'either', '!'],
  ['DeactivationDate', 'all', 'either', '+'],
  ['Description', 'all and templates', 'client', '+'],
  ['DestroyDate', 'all and templates', 'server', ''],
  ['Digest', 'all', 'server', ''],
  ['DigitalSignatureAlgorithm', 'signed', 'server', ''],
  ['KeyFormatType', 'all', 'either', ''],
  ['Extractable', 'all', 'either', '!'],
  ['Fresh', 'all', 'server', '!'],
  ['InitialDate', 'all and templates', 'server', '!'],
  ['KeyValueLocation', 'keys and secrets', 'client', '+#'],
  ['KeyValuePresent', 'keys and secrets', 'server', ''],
  ['LastChangeDate', 'all and templates', 'server', '!'],
  ['LeaseTime', 'all', 'server', '!'],
  ['Link', 'all', 'either', '+'],
  ['Name', 'all and templates', 'client', '+'],
  ['NeverExtractable', 'all', 'server', '!'],
  ['NISTKeyType', 'keys', 'client', '+'],
  ['ObjectClass', 'all and templates', 'server', '!'],
  ['ObjectGroup', 'all and templates', 'either', '+#'],
  ['OpaqueDataType', 'opaque', 'either', ''],
  ['OriginalCreationDate', 'all', 'either', '+'],
  ['PKCS_12FriendlyName', 'all', 'client', '+#'],
  ['ProcessStartDate', 'cryptographic', 'either', '+#'],
  ['ProtectStopDate', 'cryptographic', 'either', '+#'],
  ['ProtectionLevel', 'cryptographic', 'client', '+'],
  ['ProtectionPeriod', 'cryptographic', 'client', '+'],
  ['ProtectionStorageMask', 'all', 'either', '!'],
  ['ProtectionStorageMasks', 'all', 'either', ''],
  ['QuantumSafe', 'cryptographic', 'client', '+'],
  ['RandomNumberGenerator', 'cryptographic', 'server', ''],
  ['RevocationReason', 'all', 'server', ''],
  ['RotateAutomatic', 'all', 'client', '+#'],
  ['RotateDate', 'all', 'server', ''],
  ['RotateGeneration', 'all', 'server', ''],
  ['RotateInterval', 'all', 'client', '+'],
  ['RotateLatest', 'all', 'server', ''],
  ['RotateName', 'all', 'client', '+#'],
  ['RotateOffset', 'all', 'client', '+'],
  ['Sensitive', 'all', 'either', '!'],
  ['State', 'all', 'server', '!'],
  ['UsageLimits', 'cryptographic', 'client', '+'],
  ['X_509CertificateIdentifier', 'certificates', 'server', '#'],
  ['X_509CertificateIssuer', 'certificates', 'server', '#'],
  ['X_509CertificateSubject', 'certificates', 'server', '#'],
]

const standard = new Map<string, AttributeRow>(attributes.map((row) => [row.name, row]))

function toRule([name, set, setBy, flags]: Row): AttributeRule {
  const row = standard.get(name)
  if (row === undefined) throw new Error(`${name} is no attribute of the standard`)
  return {
    ...row,
    name,
    appliesTo: new Set<string>(sets[set]),
    setBy,
    always: flags.includes('!'),
    addable: flags.includes('+'),
    indexed: flags.includes('#'),
  }
}

/** The parts of a certificate's names, from the end of the standard's table (KMIP 2.1 §4.6). */
const certificateNameParts = attributes
  .filter(({ name, until }) => /^Certificate(Subject|Issuer)./.test(name) && until === undefined)
  .map(
    ({ name }): Row => [
      name as AttributeName,
      'certificates',
      'server',
      /CN$|SerialNumber$/.test(name) ? '#' : '',
    ],
  )

/** Every attribute that an object can have here, in the order in which they are listed. */
export const attributeRules: readonly AttributeRule[] = [...rows, ...certificateNameParts].map(toRule)

/** The same by name. */
export const attributeTable = Object.fromEntries(attributeRules.map((rule) => [rule.name, rule])) as Readonly<
  Record<AttributeName, AttributeRule>
>

export type AttributeType = ItemType

/** The rule of an attribute by its name; undefined when it is none. */
export function ruleNamed(name: string): AttributeRule | undefined {
  return Object.hasOwn(attributeTable, name) ? attributeTable[name as AttributeName] : undefined
}
