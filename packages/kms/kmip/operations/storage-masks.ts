import { Enumeration, Tag } from '@warder/kmip/tables'
import type { TtlvNode } from '@warder/kmip/ttlv'
import { kmipFailure } from '../engine/failure.ts'

const { Software, OnSystem } = Enumeration.ProtectionStorageMask
/** What this server is: software that keeps sealed keys in its own database. */
const available = Software | OnSystem

/**
 * ProtectionStorageMasks (KMIP 2.1 §7.33), wherever they stand: one of the alternatives must be what this server is.
 * @throws ProtectionStorageUnavailable
 */
export function requireSoftwareStorage(nodes: readonly TtlvNode[]): void {
  for (const node of nodes) {
    if (node.tag !== Tag.ProtectionStorageMasks || node.type !== 'Structure') continue
    const fits = node.value.some(
      ({ tag, value }) =>
        tag === Tag.ProtectionStorageMask &&
        typeof value === 'number' &&
        (value & ~available) === 0 &&
        value !== 0,
    )
    if (!fits)
      throw kmipFailure('ProtectionStorageUnavailable', 'This server has no storage with such a protection.')
  }
}
