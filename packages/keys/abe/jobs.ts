import type { RotationAction } from './actions.ts'

/** Kind of an attribute-based key. */
export type AbeKind = 'master' | 'public' | 'user'

/** Layout of plaintexts in data: one, items of one policy, or independent items (after the two bytes 0x87). */
export type Framing = 'single' | 'bulk' | 'several'

/** Work with attribute-based keys, for a thread of its own. */
export type AbeJob =
  | { readonly type: 'createMaster'; readonly structure: unknown }
  | { readonly type: 'createUser'; readonly master: Uint8Array; readonly policy: string }
  | { readonly type: 'recognise'; readonly key: Uint8Array; readonly kinds: readonly AbeKind[] }
  | {
      readonly type: 'rotate'
      readonly master: Uint8Array
      readonly action: RotationAction
      readonly nextAttributeId: number
      readonly formerNames: Readonly<Record<string, number>>
      readonly users: readonly Uint8Array[]
    }
  | {
      readonly type: 'seal'
      readonly publicKey: Uint8Array
      readonly framing: Framing
      /** As the request of KMIP frames it: policy and plaintexts. */
      readonly data: Uint8Array
      readonly aad: Uint8Array
    }
  | {
      readonly type: 'open'
      readonly userKey: Uint8Array
      readonly framing: Framing
      readonly data: Uint8Array
      readonly aad: Uint8Array
    }
  | {
      readonly type: 'describe'
      readonly publicKey: Uint8Array
      readonly users: readonly Uint8Array[]
      /** With a policy, the user keys that can decrypt data of this policy are listed, too. */
      readonly policy: string | undefined
    }

export interface CreatedMaster {
  readonly master: Uint8Array
  readonly publicKey: Uint8Array
  /** The id that no attribute has had yet. */
  readonly nextAttributeId: number
}

export interface CreatedUser {
  /** With one user more. */
  readonly master: Uint8Array
  readonly user: Uint8Array
  readonly rights: number
}

export interface Recognised {
  readonly kind: AbeKind
  readonly nextAttributeId: number
}

export interface Rotated extends CreatedMaster {
  readonly formerNames: Readonly<Record<string, number>>
  /** In the order of the job; undefined: the key was not made by this master key, or was altered. */
  readonly users: readonly (Uint8Array | undefined)[]
}

export interface Sealed {
  readonly data: Uint8Array
  /** In the order of the items. */
  readonly policies: readonly string[]
}

export interface DescribedAttribute {
  readonly name: string
  readonly mode: 'Classic' | 'PostQuantum' | 'Hybridized'
  readonly enabled: boolean
}

export interface DescribedDimension {
  readonly name: string
  readonly ordered: boolean
  readonly attributes: readonly DescribedAttribute[]
}

/** The rights of a user key, and the data that each can decrypt. */
export interface DescribedUser {
  /** Attributes, each of which alone is a policy whose data the key decrypts: `Team::Blue`. */
  readonly reads: readonly string[]
  /** Whether it decrypts data of the policy of the job; undefined without a policy. */
  readonly opens: boolean | undefined
}

export interface Described {
  readonly dimensions: readonly DescribedDimension[]
  /** In the order of the job. */
  readonly users: readonly DescribedUser[]
}

/** By the type of the job. */
export interface AbeResults {
  readonly createMaster: CreatedMaster
  readonly createUser: CreatedUser
  readonly recognise: Recognised
  readonly rotate: Rotated
  readonly seal: Sealed
  readonly open: Uint8Array
  readonly describe: Described
}
