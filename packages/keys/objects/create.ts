import {
  algorithms,
  type KeyMaterial,
  type MaterialDescriptor,
  type MaterialKind,
  serializeMaterial,
} from '@warder/crypto'
import { ObjectAttributes } from '../attributes/object-attributes.ts'
import type { HsmKeyMaterial } from '../hsm/new-hsm-key.ts'
import { type Extractability, type NewObject, newObjectDefaults, type ObjectType } from './managed-object.ts'
import { type Usage, usageMask } from './may-use.ts'
import { newObjectId, type ObjectId } from './object-id.ts'

/** Members shared by the halves of one new key. Times in Unix milliseconds. */
export interface NewKey {
  readonly owner: string
  readonly boundAlg: string | undefined
  readonly now: number
}

/** A key that was created in an HSM. */
export interface HsmMaterial extends MaterialDescriptor {
  readonly hsm: HsmKeyMaterial
}

export interface NewHalf {
  /** Default: an identifier of the service. */
  readonly id?: ObjectId
  readonly material: KeyMaterial | HsmMaterial
  readonly usageMask: number
  readonly tags: readonly string[]
  /** Default: extractable, not sensitive. */
  readonly extractability?: Extractability
}

const types: Readonly<Record<MaterialKind, ObjectType>> = {
  secret: 'SymmetricKey',
  private: 'PrivateKey',
  public: 'PublicKey',
}

/**
 * A new key, or the halves of a pair linked to each other, Active from `now` on, in the order of the halves. Its bytes
 * are in clear: the caller wipes them.
 */
export function newKeyObjects(
  key: NewKey,
  halves: readonly [NewHalf] | readonly [NewHalf, NewHalf],
): readonly NewObject[] {
  const ids = halves.map(({ id }) => id ?? newObjectId(key.now))
  return halves.map(
    ({ material, usageMask, tags, extractability }, index): NewObject => ({
      object: {
        ...newObjectDefaults,
        ...extractability,
        id: ids[index] as ObjectId,
        type: types[material.kind],
        algorithm: material.algorithm,
        bits: material.bits,
        curve: material.curve,
        boundAlg: key.boundAlg,
        state: 'Active',
        owner: key.owner,
        usageMask,
        linkedId: ids.length === 2 ? ids[1 - index] : undefined,
        createdAt: key.now,
        activationAt: key.now,
        form: 'hsm' in material ? { hsm: material.hsm.form } : {},
        attributes: ObjectAttributes.none,
      },
      material: 'hsm' in material ? Uint8Array.from(material.hsm.material) : serializeMaterial(material),
      tags,
    }),
  )
}

const signing: readonly Usage[] = ['sign', 'verify']
const encrypting: readonly Usage[] = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']

/** Allowed uses of a key of this algorithm, bound or not; the halves of a pair share the list. */
function listUses(algorithm: string, boundAlg: string | undefined): readonly Usage[] {
  if (algorithm === 'AES') return encrypting
  if (algorithm === 'HMAC') return ['macGenerate', 'macVerify']
  if (algorithm === 'RSA' && boundAlg === undefined) return [...signing, ...encrypting]
  return encrypts(algorithm, boundAlg) ? encrypting : signing
}

/** Is this a pair that others encrypt for? An EC key that is not bound signs. */
export function encrypts(algorithm: string | undefined, boundAlg: string | undefined): boolean {
  if (boundAlg !== undefined) return algorithms[boundAlg]?.use.endsWith('key management') === true
  return algorithm === 'X25519' || algorithm?.startsWith('ML-KEM-') === true
}

const ofPublicHalf: ReadonlySet<Usage> = new Set<Usage>(['verify', 'encrypt', 'wrapKey'])

/**
 * Usage mask of new material. A private key also has the uses of its public half, since that half can always be derived
 * from it (an imported key has no other).
 */
export function toUsageMask(material: MaterialDescriptor, boundAlg: string | undefined): number {
  const uses = listUses(material.algorithm, boundAlg)
  return usageMask(...(material.kind === 'public' ? uses.filter((use) => ofPublicHalf.has(use)) : uses))
}
