import { randomBytes } from 'node:crypto'
import { baseTimes, randomDecapsulationKey, randomScalar } from '../primitives/index.ts'
import {
  listRights,
  type Right,
  type RightState,
  type SecurityMode,
  type Structure,
} from '../structure/index.ts'
import { type MasterKey, type Revision, type RightSecret, signingKeyBytes, type Tracer } from './key-types.ts'

/** Tracers of the master keys made here, as everywhere in version 16. */
const tracerCount = 2

/** A master key for a structure, without users. @throws CovercryptError too_large */
export function createMasterKey(structure: Structure): MasterKey {
  const tracers = Array.from({ length: tracerCount }, (): Tracer => {
    const scalar = randomScalar()
    return { scalar, point: baseTimes(scalar) }
  })
  const signingKey = new Uint8Array(randomBytes(signingKeyBytes))
  const empty = { scalar: randomScalar(), tracers, users: [], rights: new Map(), signingKey, structure }
  return withStructure(empty, structure)
}

/**
 * The master key with another structure. Rights that are gone lose their secrets; those that stay keep them, the newest
 * with the status of today; those that are new have a fresh one.
 *
 * @throws CovercryptError too_large
 */
export function withStructure(master: MasterKey, structure: Structure): MasterKey {
  const rights = new Map<Right, readonly Revision[]>()
  for (const [right, state] of listRights(structure))
    rights.set(right, revisions(master.rights.get(right), state))
  return { ...master, rights, structure }
}

function revisions(
  present: readonly Revision[] | undefined,
  { mode, enabled }: RightState,
): readonly Revision[] {
  const [newest, ...older] = present ?? []
  if (newest === undefined) return [{ enabled, secret: freshSecret(mode) }]
  return [{ enabled, secret: inMode(newest.secret, mode) }, ...older]
}

/** The secret with the parts that the mode needs: those that it has, and fresh ones. */
function inMode({ scalar, decapsulationKey }: RightSecret, mode: SecurityMode): RightSecret {
  return {
    scalar: mode === 'PostQuantum' ? undefined : (scalar ?? randomScalar()),
    decapsulationKey: mode === 'Classic' ? undefined : (decapsulationKey ?? randomDecapsulationKey()),
  }
}

export function freshSecret(mode: SecurityMode): RightSecret {
  return inMode({ scalar: undefined, decapsulationKey: undefined }, mode)
}
