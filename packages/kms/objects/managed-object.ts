import type { ObjectId } from './object-id.ts'
import type { LifeCycle } from './state-machine.ts'

/** KMIP 2.1 §11.39, those that Warder keeps. */
export const objectTypes = [
  'SymmetricKey',
  'PrivateKey',
  'PublicKey',
  'Certificate',
  'SecretData',
  'OpaqueObject',
  'SplitKey',
] as const
export type ObjectType = (typeof objectTypes)[number]

/** What is written about an object besides its material; the same for REST and KMIP. Times in Unix milliseconds. */
export interface ManagedObject extends LifeCycle {
  readonly id: ObjectId
  readonly type: ObjectType
  /** `AES`, `HMAC`, `RSA`, `EC`, `Ed25519`, `ML-DSA-44` …; undefined for opaque things. */
  readonly algorithm: string | undefined
  /** Length of a symmetric key, modulus or field, in bits. */
  readonly bits: number | undefined
  readonly curve: string | undefined
  /** JOSE algorithm that the key is bound to; undefined = every algorithm of its type. */
  readonly boundAlg: string | undefined
  readonly owner: string
  readonly usageMask: number
  /** The other half of a pair. */
  readonly linkedId: ObjectId | undefined
  readonly createdAt: number
  readonly changedAt: number
  readonly revocationReason: string | undefined
  readonly revocationMessage: string | undefined
  /** Attributes that have no column of their own. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** Grows with every change of the row. An id that is used again starts above every version it had. */
  readonly version: number
}

/** An object that does not exist yet: its encoded material in clear, to be sealed for its row. */
export interface NewObject {
  readonly object: Omit<ManagedObject, 'version' | 'changedAt'>
  /** The caller wipes it. undefined = no material (an object known by its attributes alone). */
  readonly material: Uint8Array | undefined
  readonly tags: readonly string[]
}
