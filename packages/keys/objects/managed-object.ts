import type { ObjectAttributes } from '../attributes/object-attributes.ts'
import type { HsmForm } from '../hsm/hsm-key.ts'
import type { ObjectId } from './object-id.ts'
import type { LifeCycle, Withholding } from './state-machine.ts'

/** Object types of KMIP 2.1 §11.34 that Warder stores; Template is only in KMIP 1.x. */
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

/** How much a key may still protect (KMIP 2.1 §4.59). */
export interface UsageLimits {
  /** Unit of the count: bytes of data, or operations. */
  readonly unit: 'Byte' | 'Object'
  readonly total: bigint
  /** From 0 to the total. */
  readonly left: bigint
}

/** Bounds of an object's use beside its state and its usage mask; they bind every protocol. Unix milliseconds. */
export interface UseBounds {
  /** Processing is refused before this moment (KMIP 2.1 §4.39). */
  readonly processStartAt: number | undefined
  /** Protecting is refused from this moment on (KMIP 2.1 §4.41). */
  readonly protectStopAt: number | undefined
  readonly usageLimits: UsageLimits | undefined
  /** Set while the object is archived: it is used for nothing until it is recovered (KMIP 2.1 §6.1.4). */
  readonly archivedAt: number | undefined
}

/** Whether the material may leave the service (KMIP 2.1 §4.3, §4.23, §4.33, §4.50). */
export interface Extractability {
  /** false: not returned to any caller, wrapped or not. */
  readonly extractable: boolean
  /** true: never given in clear. */
  readonly sensitive: boolean
  /** It has never been extractable since it exists. */
  readonly neverExtractable: boolean
  /** It has always been sensitive since it exists. */
  readonly alwaysSensitive: boolean
}

/** A name that a user gave to an object (KMIP 2.1 §4.37). */
export interface ObjectName {
  readonly name: string
  /** KMIP 2.1 §11.32, `UninterpretedTextString` or `URI`; that of a vendor as `0x8…`. */
  readonly type: string
}

/** Link to another object (KMIP 2.1 §4.32). Its target need not exist, nor belong to the same owner. */
export interface ObjectLink {
  /** KMIP 2.1 §11.30: `CertificateLink`, `ReplacedObjectLink` …; that of a vendor as `0x8…`. */
  readonly kind: string
  readonly id: string
}

/** Form of an attribute-based key (`kms/abe`); the owner of the object cannot change it. */
export interface AbeForm {
  readonly kind: 'master' | 'public' | 'user'
  /** SHA-256 of the material, base64url. */
  readonly digest: string
  /** Of a master key: the id that no attribute of it has ever had. */
  readonly nextAttributeId?: number
  /** Of a master key: the ids of attributes by names (`Dimension::Name`) that they do not have any more. */
  readonly formerNames?: Readonly<Record<string, number>>
  /** The policy for which a user key was issued. */
  readonly policy?: string
  /** The master key that issued a user key here, with which it is refreshed, revoked and destroyed. */
  readonly master?: ObjectId
}

/** Form of the bytes of the material, if the type and the algorithm do not determine it. */
export interface MaterialForm {
  /** `block`: the encoding of the whole object as it was received, for objects without a canonical form. */
  readonly format?: 'block'
  /** The material is stored as the client wrapped it. */
  readonly wrapped?: true
  readonly secretDataType?: number | string
  readonly certificateRequestType?: string
  /** Compression of the public point, as registered. */
  readonly compression?: string
  /** Members of a transparent key that were given, when not all were. */
  readonly members?: readonly string[]
  /** Set for the keys of attribute-based encryption. */
  readonly abe?: AbeForm
  /** Set for secret and private keys in an HSM. */
  readonly hsm?: HsmForm
}

/** Record of an object besides its material; the same for REST and KMIP. Times in Unix milliseconds. */
export interface ManagedObject extends LifeCycle, UseBounds, Extractability, Withholding {
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
  readonly form: MaterialForm
  /** In the order in which they were given. */
  readonly names: readonly ObjectName[]
  /** In the order in which they were set. The link between the halves of a pair is `linkedId`. */
  readonly links: readonly ObjectLink[]
  /** All others. */
  readonly attributes: ObjectAttributes
  /** The id of generation 0, on every version of a key that was rotated; undefined = the object is its own chain. */
  readonly chainId: ObjectId | undefined
  /** 0, 1, 2 … within the chain. */
  readonly generation: number
  /** On generation 0 of a rotated key: the id of the version that protects. */
  readonly newestId: ObjectId | undefined
  /** Since when a newer version protects in its place. */
  readonly supersededAt: number | undefined
  /** On generation 0: versions below process nothing. */
  readonly minGeneration: number
  /** On generation 0: seconds between two rotations; undefined = the key is not rotated by time. */
  readonly rotateEvery: number | undefined
  /** When the next of them is due. Unix milliseconds. */
  readonly rotateAt: number | undefined
  /** On generation 0: seconds from its creation to the beginning of the first interval. */
  readonly rotateOffset: number | undefined
  /** On generation 0: AES-GCM messages of a version after which the next one replaces it. */
  readonly rotateAfter: number | undefined
  /** The version of a key in an HSM that wraps the material in the database (`hsm-wrapping.ts`); undefined: none does. */
  readonly wrappingKey: ObjectId | undefined
  /** Grows with every change of the row. An id that is used again starts above every version it had. */
  readonly version: number
}

/** Defaults of the members of new objects; spread them and set those that differ. */
export const newObjectDefaults = {
  compromisedAt: undefined,
  destroyedAt: undefined,
  deactivationAt: undefined,
  processStartAt: undefined,
  protectStopAt: undefined,
  usageLimits: undefined,
  archivedAt: undefined,
  disabledAt: undefined,
  destructionAt: undefined,
  destruction: undefined,
  extractable: true,
  sensitive: false,
  neverExtractable: false,
  alwaysSensitive: false,
  revocationReason: undefined,
  revocationMessage: undefined,
  names: Object.freeze([]) as readonly ObjectName[],
  links: Object.freeze([]) as readonly ObjectLink[],
  chainId: undefined,
  generation: 0,
  newestId: undefined,
  supersededAt: undefined,
  minGeneration: 0,
  rotateEvery: undefined,
  rotateAt: undefined,
  rotateOffset: undefined,
  rotateAfter: undefined,
  wrappingKey: undefined,
} as const satisfies Partial<ManagedObject>

/** Target of the first link of a kind. */
export function findLinkTarget({ links }: Pick<ManagedObject, 'links'>, kind: string): string | undefined {
  return links.find((link) => link.kind === kind)?.id
}

/** The id of the key of a version, or the id of the object itself: grants and tags belong to it. */
export function getChainId<Id extends string>({
  id,
  chainId,
}: {
  readonly id: Id
  readonly chainId?: Id | undefined
}): Id {
  return chainId ?? id
}

/** An identifier that a client chose (docs/adr/identifiers-and-aliases.md). */
export interface ChosenId {
  readonly by: string
  /** true: the object comes from another server with it (KMIP Import). */
  readonly isMoved: boolean
}

/** An object that does not exist yet: its encoded material, to be sealed for its row. */
export interface NewObject {
  readonly object: Omit<ManagedObject, 'version' | 'changedAt'>
  /** In clear, or wrapped with `object.wrappingKey`; the caller wipes it. undefined = no material (an object known by its attributes alone). */
  readonly material: Uint8Array | undefined
  readonly tags: readonly string[]
  /** The party that chose its identifier; undefined: the service. */
  readonly chosenId?: ChosenId
  /** AES-GCM encryptions that were done with it before it is stored. Default: none. */
  readonly invocations?: number
}

/** An update of an object: its identity and origin stay, all other members can be replaced. */
export interface ObjectUpdate {
  readonly before: ManagedObject
  readonly after: ManagedObject
  /** New material in clear, or wrapped with `after.wrappingKey`, which the caller wipes; null = removed permanently; undefined = unchanged. */
  readonly material: Uint8Array | null | undefined
}
