import { randomBytes } from 'node:crypto'
import { covercryptError } from './error.ts'
import {
  baseTimes,
  type Point,
  randomDecapsulationKey,
  randomScalar,
  readEncapsulationKey,
  type Scalar,
  scalarProduct,
} from './primitives.ts'
import { listRights, type Right, type RightState, type SecurityMode, type Structure } from './structure.ts'

/** Bytes of the key of KMAC that signs user keys, and of a signature. */
export const signingKeyBytes = 16
export const signatureBytes = 32
/** Tracers of a master key: those of version 16 have two; more are read. */
export const maxTracers = 8

/** The secret of a right. Its parts determine its mode. */
export interface RightSecret {
  readonly scalar: Scalar | undefined
  /** ML-KEM-512, expanded. */
  readonly decapsulationKey: Uint8Array | undefined
}

export interface RightPublic {
  readonly point: Point | undefined
  readonly encapsulationKey: Uint8Array | undefined
}

/** A current or old secret of a right. */
export interface Revision {
  /** For the newest secret: whether data may be encrypted for the right. */
  readonly enabled: boolean
  readonly secret: RightSecret
}

/** A scalar and its multiple of the base point, by which user keys can be traced. */
export interface Tracer {
  readonly scalar: Scalar
  readonly point: Point
}

/** One scalar for each tracer, whose products with the tracers add up to the scalar of the master key. */
export type UserId = readonly Scalar[]

export interface MasterKey {
  readonly scalar: Scalar
  readonly tracers: readonly Tracer[]
  /** The newest first. */
  readonly users: readonly UserId[]
  /** The newest revision first. */
  readonly rights: ReadonlyMap<Right, readonly Revision[]>
  /** Of KMAC, 16 bytes: signs user keys. */
  readonly signingKey: Uint8Array
  readonly structure: Structure
}

export interface PublicKey {
  readonly tracingPoints: readonly Point[]
  readonly rights: ReadonlyMap<Right, RightPublic>
  readonly structure: Structure
}

export interface UserKey {
  readonly id: UserId
  readonly tracingPoints: readonly Point[]
  /** The newest secret first. */
  readonly rights: ReadonlyMap<Right, readonly RightSecret[]>
  readonly signature: Uint8Array | undefined
}

function toSecurityMode(hasScalar: boolean, hasKem: boolean): SecurityMode {
  if (!hasKem) return 'Classic'
  return hasScalar ? 'Hybridized' : 'PostQuantum'
}

export const secretMode = ({ scalar, decapsulationKey }: RightSecret): SecurityMode =>
  toSecurityMode(scalar !== undefined, decapsulationKey !== undefined)

export const publicMode = ({ point, encapsulationKey }: RightPublic): SecurityMode =>
  toSecurityMode(point !== undefined, encapsulationKey !== undefined)

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
