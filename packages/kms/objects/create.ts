import type { Seal } from '@warder/foundation/seal'
import type { Change, Database } from '@warder/foundation/sql'
import { type KeyMaterial, type MaterialKind, serializeMaterial } from '../crypto/index.ts'
import type { ManagedObject, NewObject, ObjectType } from './managed-object.ts'
import { newObjectId, type ObjectId } from './object-id.ts'
import { creationChanges } from './object-store.ts'

/** What is common to the halves of one new key. Times in Unix milliseconds. */
export interface NewKey {
  readonly owner: string
  readonly boundAlg: string | undefined
  readonly now: number
}

export interface NewHalf {
  readonly material: KeyMaterial
  readonly usageMask: number
  readonly tags: readonly string[]
  /** What has no column; the rows that find an object by it are the caller's to write. Default: nothing. */
  readonly attributes?: ManagedObject['attributes']
}

const types: Readonly<Record<MaterialKind, ObjectType>> = {
  secret: 'SymmetricKey',
  private: 'PrivateKey',
  public: 'PublicKey',
}

/**
 * Changes that store a key, or the halves of a pair linked to each other, Active from now on. The bytes are sealed
 * here and wiped.
 * @returns the ids in the order of the halves
 */
export function newKeyChanges(
  { db, seal }: { readonly db: Database; readonly seal: Seal },
  key: NewKey,
  halves: readonly [NewHalf] | readonly [NewHalf, NewHalf],
): { readonly ids: readonly ObjectId[]; readonly changes: Change[] } {
  const ids = halves.map(() => newObjectId(key.now))
  const created = halves.map(
    ({ material, usageMask, tags, attributes = {} }, index): NewObject => ({
      object: {
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
        deactivationAt: undefined,
        compromisedAt: undefined,
        destroyedAt: undefined,
        revocationReason: undefined,
        revocationMessage: undefined,
        attributes,
      },
      material: serializeMaterial(material),
      tags,
    }),
  )
  try {
    return { ids, changes: creationChanges(db, seal, created, key.now) }
  } finally {
    for (const { material } of created) material?.fill(0)
  }
}
