import type { ObjectId } from './object-id.ts'
import type { LifeCycle } from './state-machine.ts'

/** KMIP 2.1 §11.34, those that Warder keeps; Template is of KMIP 1.x alone. */
export const objectTypes = [
  'SymmetricKey',
  'PrivateKey',
  'PublicKey',
  'Certificate',
  'SecretData',
  'OpaqueObject',
  'SplitKey',
  'CertificateRequest',
  'PGPKey',
  'Template',
] as const
export type ObjectType = (typeof objectTypes)[number]

/** What is written about an object besides its material; the same for REST and KMIP. Times in Unix milliseconds. */
export interface ManagedObject extends LifeCycle {
  readonly id: ObjectId
  readonly type: ObjectType
  /**
   * `AES`, `HMAC`, `RSA`, `EC`, `Ed25519`, `ML-DSA-44`: keys of REST and KMIP alike; else KMIP's own name of the
   * algorithm (`DES3`, `ChaCha20` …); undefined for opaque things.
   */
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
  /**
   * What has no column of its own: `kmip` the attributes as KMIP clients gave them, `format` what the material is when
   * it is not the canonical form (raw bytes, PKCS#8, SPKI, X.509).
   */
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
  /** AES-GCM encryptions that were done with it before it is stored. Default: none. */
  readonly invocations?: number
}

/** What a change of an object leaves alone: who it is and where it came from. Everything else may be written anew. */
export interface ObjectUpdate {
  readonly before: ManagedObject
  readonly after: ManagedObject
  /** New material in clear, which the caller wipes; null = it is taken away for good; undefined = it stays. */
  readonly material: Uint8Array | null | undefined
}
