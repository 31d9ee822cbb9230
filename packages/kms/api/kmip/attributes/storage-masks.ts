import { Enumeration, Tag } from '@warder/kmip/tables'
import { structure, type TtlvNode } from '@warder/kmip/ttlv'
import { kmipFailure } from '../failure/failure.ts'

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
    if (!node.value.some(isOurs)) throw unavailable()
  }
}

/** As `requireSoftwareStorage`, under the three tags that a pair has for them (KMIP 2.1 §6.1.9, §6.1.47). */
export function requireSoftwarePair(nodes: readonly TtlvNode[]): void {
  for (const node of nodes)
    if (pairTags.has(node.tag) && node.type === 'Structure')
      requireSoftwareStorage([structure(Tag.ProtectionStorageMasks, node.value)])
}

const pairTags: ReadonlySet<number> = new Set([
  Tag.CommonProtectionStorageMasks,
  Tag.PrivateProtectionStorageMasks,
  Tag.PublicProtectionStorageMasks,
])

/**
 * The attribute ProtectionStorageMask says where the object is: nobody has it say what is not so.
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
  return kmipFailure('ProtectionStorageUnavailable', 'This server has no storage with such a protection.')
}
