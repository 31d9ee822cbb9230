import type { KeyMaterial, MaterialDescriptor } from '../crypto/material/material.ts'
import type { BackendKey } from './key-backend.ts'
import { softwareKey } from './software.ts'

/** A key of the JOSE algorithms with what their tables ask about it, used by reference. */
export interface DescribedKey extends MaterialDescriptor {
  readonly held: BackendKey
}

/** A key of this process that no row holds, described. */
export function toDescribedKey({ key, ...descriptor }: KeyMaterial): DescribedKey {
  return { ...descriptor, held: softwareKey(key) }
}
