import { Reader } from '../bytes/reader.ts'
import { join, leb } from '../bytes/writer.ts'
import { covercryptError } from '../error.ts'
import { type Attribute, listAttributes, type SecurityMode, type Structure, strongest } from './structure.ts'

/** At most one attribute of each dimension, as the hexadecimal of their ids in order, each LEB128. Empty: the broadcast right. */
export type Right = string

/** Every user key has this right, and a ciphertext for the policy `*` requires only this one. */
export const broadcast: Right = ''

/** Maximum number of rights of a structure: the product, over the dimensions, of one more than their attributes. */
export const maxRights = 4096

export function toRight(ids: readonly number[]): Right {
  const sorted = ids.toSorted((left, right) => left - right)
  return Buffer.from(join(sorted.map(leb))).toString('hex')
}

/** Reads the ids of the attributes of a right. @throws CovercryptError malformed */
export function readAttributeIds(right: Right): readonly number[] {
  const reader = new Reader(Buffer.from(right, 'hex'), 'right')
  const ids: number[] = []
  while (reader.left > 0) ids.push(reader.leb())
  return ids
}

export interface RightState {
  readonly mode: SecurityMode
  /** Whether data may be encrypted for it: none of its attributes is disabled. */
  readonly enabled: boolean
}

/**
 * All combinations of at most one choice for each dimension.
 *
 * @throws CovercryptError too_large
 */
export function combinations(choices: readonly (readonly Attribute[])[]): (readonly Attribute[])[] {
  const size = choices.reduce((product, list) => product * (list.length + 1), 1)
  if (size > maxRights)
    throw covercryptError(
      'too_large',
      `The access structure spans ${size} rights, more than the maximum of ${maxRights}.`,
    )
  let found: (readonly Attribute[])[] = [[]]
  for (const list of choices)
    found = found.flatMap((chosen) => [chosen, ...list.map((attribute) => [...chosen, attribute])])
  return found
}

/** Lists every right of the structure. @throws CovercryptError too_large */
export function listRights(structure: Structure): ReadonlyMap<Right, RightState> {
  const rights = new Map<Right, RightState>()
  for (const chosen of combinations(structure.dimensions.map(({ attributes }) => attributes))) {
    const right = toRight(chosen.map(({ id }) => id))
    const enabled = chosen.every((attribute) => attribute.enabled)
    rights.set(right, { mode: strongest(chosen.map(({ mode }) => mode)), enabled })
  }
  return rights
}

/**
 * Finds ids that several attributes share. The deployed implementation reuses the ids of deleted attributes: a user
 * with the rights of one such attribute has those of the other.
 */
export function findSharedIds(structure: Structure): ReadonlySet<number> {
  const seen = new Set<number>()
  const shared = new Set<number>()
  for (const { id } of listAttributes(structure)) {
    if (seen.has(id)) shared.add(id)
    seen.add(id)
  }
  return shared
}
