import type { TtlvNode } from '@warder/kmip-codec'
import { Enumeration, Tag } from '@warder/kmip-codec'
import { refusal } from '../refusal.ts'

const { Software, OnSystem } = Enumeration.ProtectionStorageMask
/** Storage of this server: software that keeps sealed keys in its own database. */
const available = Software | OnSystem

/**
 * ProtectionStorageMasks (KMIP 2.1 §7.33) at any level: one of the alternatives must match the storage of this server.
 * @throws ProtectionStorageUnavailable
 */
export function requireSoftwareStorage(nodes: readonly TtlvNode[]): void {
  for (const node of nodes) {
    if (node.tag !== Tag.ProtectionStorageMasks || node.type !== 'Structure') continue
    if (!node.value.some(isOurs)) throw unavailable()
  }
}

/**
 * The attribute ProtectionStorageMask describes where the object is stored. A client cannot set another value.
 * @throws ProtectionStorageUnavailable
 */
export function requireTrueStorage(node: TtlvNode): void {
  if (!isOurs(node)) throw unavailable()
}

function isOurs({ tag, value }: TtlvNode): boolean {
  return (
    tag === Tag.ProtectionStorageMask &&
    typeof value === 'number' &&
    (value & ~available) === 0 &&
    value !== 0
  )
}

function unavailable(): Error {
  return refusal('ProtectionStorageUnavailable', 'This server has no storage with such a protection.')
}
