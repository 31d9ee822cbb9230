import { ObjectAttributes } from '../attributes/object-attributes.ts'
import {
  type AbeForm,
  type Extractability,
  type NewObject,
  newObjectDefaults,
  type ObjectLink,
} from '../objects/managed-object.ts'
import { unrestricted } from '../objects/may-use.ts'
import { newObjectId } from '../objects/object-id.ts'
import type { CreatedMaster } from './jobs.ts'
import { abeAlgorithm, abeBits, abeForm } from './managed-keys.ts'

/** Members shared by new keys. */
export interface NewAbeObjects {
  readonly owner: string
  /** Unix milliseconds. */
  readonly now: number
  readonly tags: readonly string[]
  /** Of the secret ones. */
  readonly extractability: Extractability | undefined
}

/** A master key and its public key, Active from now on. Their bytes are in clear: the caller wipes them. */
export function newMasterObjects(
  common: NewAbeObjects,
  made: CreatedMaster,
): readonly [NewObject, NewObject] {
  const { master, publicKey, nextAttributeId } = made
  const [masterId, publicId] = [newObjectId(common.now), newObjectId(common.now)]
  const masterForm = abeForm(master, { kind: 'master', nextAttributeId })
  const publicForm = abeForm(publicKey, { kind: 'public' })
  const secret = newObject(common, 'PrivateKey', master, masterForm)
  const open = newObject({ ...common, extractability: undefined }, 'PublicKey', publicKey, publicForm)
  return [
    { ...secret, object: { ...secret.object, id: masterId, linkedId: publicId } },
    { ...open, object: { ...open.object, id: publicId, linkedId: masterId } },
  ]
}

/** A user key, Active from now on, with a link to its master key. */
export function newUserObject(common: NewAbeObjects, material: Uint8Array, form: AbeForm): NewObject {
  const user = newObject(common, 'PrivateKey', material, form)
  const links: readonly ObjectLink[] =
    form.master === undefined ? [] : [{ kind: 'ParentLink', id: form.master }]
  return { ...user, object: { ...user.object, links } }
}

function newObject(
  { owner, now, tags, extractability }: NewAbeObjects,
  type: 'PrivateKey' | 'PublicKey',
  material: Uint8Array,
  abe: AbeForm,
): NewObject {
  return {
    object: {
      ...newObjectDefaults,
      ...extractability,
      id: newObjectId(now),
      type,
      algorithm: abeAlgorithm,
      bits: abeBits(material),
      curve: undefined,
      boundAlg: undefined,
      state: 'Active',
      owner,
      usageMask: unrestricted,
      linkedId: undefined,
      createdAt: now,
      activationAt: now,
      form: { abe },
      attributes: ObjectAttributes.none,
    },
    material,
    tags,
  }
}
