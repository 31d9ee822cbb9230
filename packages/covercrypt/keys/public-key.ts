import { baseTimes, readEncapsulationKey, scalarProduct } from '../primitives/index.ts'
import type { Right } from '../structure/index.ts'
import type { MasterKey, PublicKey, RightPublic, RightSecret } from './key-types.ts'

/** The public key of a master key: of each right whose newest secret is enabled, the public part of that one. */
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
