import { baseTimes, scalarProduct } from '../primitives/group.ts'
import { readEncapsulationKey } from '../primitives/kem.ts'
import type { Right } from '../structure/right.ts'
import type { MasterKey, PublicKey, RightPublic, RightSecret } from './key-types.ts'

/** Derives the public key of a master key: the public part of the newest secret of each right, if enabled. */
export function derivePublicKey({ scalar, tracers, rights, structure }: MasterKey): PublicKey {
  const published = new Map<Right, RightPublic>()
  for (const [right, [newest]] of rights)
    if (newest?.enabled === true) published.set(right, publicPart(newest.secret, scalar))
  return { tracingPoints: tracers.map(({ point }) => point), rights: published, structure }
}

function publicPart({ scalar, decapsulationKey }: RightSecret, master: Uint8Array): RightPublic {
  return {
    point: scalar && baseTimes(scalarProduct(scalar, master)),
    encapsulationKey: decapsulationKey && readEncapsulationKey(decapsulationKey),
  }
}
