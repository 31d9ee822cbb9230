import type { Point, Scalar } from '../primitives/group.ts'
import type { Right } from '../structure/right.ts'
import type { SecurityMode, Structure } from '../structure/structure.ts'

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
