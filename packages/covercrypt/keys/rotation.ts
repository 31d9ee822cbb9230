import { randomBytes } from 'node:crypto'
import { covercryptError } from '../error.ts'
import { baseTimes, randomScalar } from '../primitives/group.ts'
import { randomDecapsulationKey } from '../primitives/kem.ts'
import { listRights, type Right, type RightState } from '../structure/right.ts'
import type { SecurityMode, Structure } from '../structure/structure.ts'
import { type MasterKey, type Revision, type RightSecret, signingKeyBytes, type Tracer } from './key-types.ts'

/** Number of tracers of new master keys, as in every key of version 16. */
const tracerCount = 2

/** Creates a master key for a structure, without users. @throws CovercryptError too_large */
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
 * Returns the master key with another structure. Removed rights lose their secrets. Remaining rights keep them, the
 * newest one with the current status. New rights get a fresh secret.
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

/** Completes a secret with the parts that the mode requires: existing parts are kept, missing ones are generated. */
function inMode({ scalar, decapsulationKey }: RightSecret, mode: SecurityMode): RightSecret {
  return {
    scalar: mode === 'PostQuantum' ? undefined : (scalar ?? randomScalar()),
    decapsulationKey: mode === 'Classic' ? undefined : (decapsulationKey ?? randomDecapsulationKey()),
  }
}

function freshSecret(mode: SecurityMode): RightSecret {
  return inMode({ scalar: undefined, decapsulationKey: undefined }, mode)
}

/** Maximum number of secrets of a right, current and old. */
const maxRevisions = 64

/**
 * Adds a fresh secret as the newest one to each of the rights. A disabled right stays disabled.
 *
 * @throws CovercryptError unknown_attribute (the master key has no such right), too_large
 */
export function rekey(master: MasterKey, chosen: Iterable<Right>): MasterKey {
  const states = listRights(master.structure)
  return changeRights(master, chosen, (right, revisions) => {
    const state = states.get(right)
    if (state === undefined) return missing()
    if (revisions.length >= maxRevisions)
      throw covercryptError(
        'too_large',
        `A right keeps at most ${maxRevisions} secrets: prune the policy first.`,
      )
    return [{ enabled: state.enabled, secret: freshSecret(state.mode) }, ...revisions]
  })
}

/** Removes all but the newest secret of each of the rights. @throws CovercryptError unknown_attribute */
export function prune(master: MasterKey, chosen: Iterable<Right>): MasterKey {
  return changeRights(master, chosen, (_right, revisions) => revisions.slice(0, 1))
}

function changeRights(
  master: MasterKey,
  chosen: Iterable<Right>,
  change: (right: Right, revisions: readonly Revision[]) => readonly Revision[],
): MasterKey {
  const rights = new Map(master.rights)
  for (const right of chosen) rights.set(right, change(right, rights.get(right) ?? missing()))
  return { ...master, rights }
}

function missing(): never {
  throw covercryptError('unknown_attribute', 'The master key lacks a right of this policy.')
}
