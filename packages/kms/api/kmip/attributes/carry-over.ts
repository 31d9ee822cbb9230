import { attributeOf, Tag } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import type { CarryOver } from '../../../keys/index.ts'
import { attributeMembers, storedAttributes } from '../stored/stored-attributes.ts'
import { isServerName, vendorNameOf } from './attribute-vendor.ts'

/**
 * A replacement takes over the attributes of the object (KMIP 2.1 §6.1.46, tables of ReKey), but for these: they are the
 * replaced one's own life, or are made anew.
 */
const notTakenOver: ReadonlySet<number> = new Set([
  Tag.Digest,
  Tag.Link,
  Tag.Fresh,
  Tag.RandomNumberGenerator,
  Tag.OriginalCreationDate,
  Tag.CompromiseOccurrenceDate,
  Tag.LeaseTime,
  Tag.KeyValuePresent,
  Tag.KeyValueLocation,
  Tag.ProtectionStorageMask,
  Tag.RotateDate,
  Tag.RotateGeneration,
  Tag.RotateLatest,
  Tag.UsageLimits,
])

/** Does the attribute pass to what replaces the object? What a server said of the one, it did not say of the other. */
export function isTakenOver(node: TtlvNode): boolean {
  const named = node.tag === Tag.Attribute ? vendorNameOf(node) : undefined
  return (
    !notTakenOver.has(node.tag) &&
    attributeOf(node.tag)?.readOnly !== true &&
    !(named !== undefined && isServerName(named))
  )
}

/** The attributes that a version made over REST has from the version before; those with a column are carried by it. */
export const carryOver: CarryOver = (replaced) =>
  attributeMembers(storedAttributes(replaced).filter(isTakenOver)).kmip
