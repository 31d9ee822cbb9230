import { timingSafeEqual } from 'node:crypto'
import { covercryptError } from './error.ts'
import { encodeUserId, encodeUserRights } from './key-bytes.ts'
import { type MasterKey, type RightSecret, secretMode, type UserId, type UserKey } from './keys.ts'
import {
  kmac256,
  randomScalar,
  scalarDifference,
  scalarInverse,
  scalarProduct,
  scalarSum,
} from './primitives.ts'
import type { Right } from './structure.ts'

/** Maximum number of users whose identifiers a master key stores. */
const maxUsers = 65_536

export interface IssuedUserKey {
  readonly userKey: UserKey
  /** The master key with the new user: it must be stored in place of the old one. */
  readonly master: MasterKey
}

/**
 * Creates a user key with the newest secret of each of the rights. @throws CovercryptError unknown_attribute,
 * too_large
 */
export function createUserKey(master: MasterKey, chosen: Iterable<Right>): IssuedUserKey {
  if (master.users.length >= maxUsers)
    throw covercryptError('too_large', `A master key has at most ${maxUsers} users.`)
  const rights = new Map<Right, readonly RightSecret[]>()
  for (const right of chosen) {
    const newest = master.rights.get(right)?.[0]
    if (newest === undefined)
      throw covercryptError('unknown_attribute', 'The master key lacks a right of this policy.')
    rights.set(right, [newest.secret])
  }
  const id = randomUserId(master)
  const tracingPoints = master.tracers.map(({ point }) => point)
  const userKey = signUserKey({ id, tracingPoints, rights, signature: undefined }, master.signingKey)
  return { userKey, master: { ...master, users: [id, ...master.users] } }
}

/**
 * Generates random scalars. The last one makes the sum of the products with the tracers equal to the scalar of the
 * master key.
 */
function randomUserId({ scalar, tracers }: MasterKey): UserId {
  const [last, ...others] = tracers.toReversed()
  if (last === undefined) throw new Error('a master key without tracers')
  const id = others.map(() => randomScalar())
  const rest = others.reduce(
    (left, tracer, index) => scalarDifference(left, scalarProduct(tracer.scalar, id[index] as Uint8Array)),
    scalar,
  )
  return [...id.toReversed(), scalarProduct(rest, scalarInverse(last.scalar))]
}

/** Whether the products of an identifier and the tracers add up to the scalar of the master key. */
export function isValidUserId({ scalar, tracers }: MasterKey, id: UserId): boolean {
  if (id.length !== tracers.length) return false
  const sum = tracers
    .map((tracer, index) => scalarProduct(tracer.scalar, id[index] as Uint8Array))
    .reduce((left, right) => scalarSum(left, right))
  return timingSafeEqual(sum, scalar)
}

function signUserKey(userKey: UserKey, signingKey: Uint8Array): UserKey {
  return { ...userKey, signature: computeSignature(userKey, signingKey) }
}

/** Computes the signature over the identifier and the rights, as encoded in the key. */
export function computeSignature({ id, rights }: UserKey, signingKey: Uint8Array): Uint8Array {
  return kmac256(signingKey, 'USK signature', Buffer.concat([encodeUserId(id), encodeUserRights(rights)]))
}

/**
 * Returns the user key with the current secrets. It never gains a right. Secrets that the master key no longer has
 * are removed, whenever the user key was last refreshed; so are removed rights, and secrets of a new right with a
 * reused identifier.
 *
 * @throws CovercryptError foreign_key: not a user key of this master key, or altered
 */
export function refreshUserKey(master: MasterKey, userKey: UserKey): UserKey {
  if (!isOwn(master, userKey))
    throw covercryptError('foreign_key', 'The user key was not created by this master key, or was modified.')
  const rights = new Map<Right, readonly RightSecret[]>()
  for (const [right, held] of userKey.rights) {
    const revisions = master.rights.get(right)
    if (revisions !== undefined)
      rights.set(
        right,
        selectSecrets(
          revisions.map(({ secret }) => secret),
          held,
        ),
      )
  }
  return signUserKey({ ...userKey, rights }, master.signingKey)
}

/**
 * Selects the secrets of the master key from the newest down to the oldest that the user has; all of them when the
 * user has none.
 */
function selectSecrets(
  present: readonly RightSecret[],
  held: readonly RightSecret[],
): readonly RightSecret[] {
  const oldest = present.findLastIndex((one) => held.some((other) => isSameSecret(one, other)))
  return oldest < 0 ? present : present.slice(0, oldest + 1)
}

function isSameSecret(left: RightSecret, right: RightSecret): boolean {
  return (
    secretMode(left) === secretMode(right) &&
    isSamePart(left.scalar, right.scalar) &&
    isSamePart(left.decapsulationKey, right.decapsulationKey)
  )
}

function isSamePart(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && timingSafeEqual(left, right))
}

function isOwn(master: MasterKey, userKey: UserKey): boolean {
  const { id, signature } = userKey
  const known = master.users.some((user) => user.every((part, index) => isSamePart(part, id[index])))
  return (
    known &&
    id.length === master.tracers.length &&
    signature !== undefined &&
    timingSafeEqual(signature, computeSignature(userKey, master.signingKey))
  )
}
