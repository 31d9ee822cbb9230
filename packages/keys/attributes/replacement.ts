import { ruleNamed, type StoredValue } from './attribute-table.ts'
import { ObjectAttributes } from './object-attributes.ts'

/**
 * A replacement inherits the attributes of the object (KMIP 2.1 §6.1.46, tables of ReKey), except these: they belong to
 * the life cycle of the replaced object, or are set again.
 */
const ownLife: ReadonlySet<string> = new Set([
  'Digest',
  'Link',
  'Fresh',
  'RandomNumberGenerator',
  'OriginalCreationDate',
  'CompromiseOccurrenceDate',
  'LeaseTime',
  'KeyValuePresent',
  'KeyValueLocation',
  'ProtectionStorageMask',
  'RotateDate',
  'RotateGeneration',
  'RotateLatest',
  'UsageLimits',
])

/** Vendor of the attributes of a server (1.x writes them `y-…`): no client changes them. */
export const serverVendor = 'y'

/** Whether an attribute is copied to the replacement of an object. Attributes that the server set are not copied. */
export function passesToReplacement(name: string, vendor: string | undefined): boolean {
  return !ownLife.has(name) && ruleNamed(name)?.readOnly !== true && vendor !== serverVendor
}

/** Attributes that a new version has from the version before. */
export function attributesForReplacement(attributes: ObjectAttributes): ObjectAttributes {
  return ObjectAttributes.of(attributes.values.filter((one) => passesToReplacement(one.tag, vendorIn(one))))
}

function vendorIn({ tag, value }: StoredValue): string | undefined {
  if (tag !== 'Attribute' || !Array.isArray(value)) return undefined
  const vendor: unknown = value.find((member: StoredValue) => member.tag === 'VendorIdentification')?.value
  return typeof vendor === 'string' ? vendor : undefined
}
