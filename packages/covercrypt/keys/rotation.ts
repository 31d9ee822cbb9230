import { covercryptError } from '../error.ts'
import { listRights, type Right } from '../structure/right.ts'
import type { MasterKey, Revision } from './key-types.ts'
import { freshSecret } from './master-key.ts'

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
