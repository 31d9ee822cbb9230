import type { Change } from '@warder/foundation/sql'
import { Tag } from '@warder/kmip/tables'
import { boolean } from '@warder/kmip/ttlv'
import Type from 'typebox'
import type { KeyMaterial } from '../crypto/index.ts'
import { attributeBag, storedWithTag } from '../kmip/object/index.ts'
import { indexChanges } from '../kmip/object/index-store.ts'
import type { ManagedObject, NewObject, ObjectId } from '../objects/index.ts'

type Bag = NewObject['object']['attributes']

/** `ext` of a JWK (Web Cryptography API §15, in the JOSE registry of IANA): whether the key may be exported. */
export const Ext = Type.Optional(
  Type.Boolean({
    description:
      'false: the secret or private half is given to nobody, wrapped or not, its owner included (KMIP: not Extractable, Sensitive), unless somebody who may modify its attributes lifts that over KMIP. Default true: a KMIP client with the right to gets it.',
  }),
)

/**
 * The attributes of a key that is never handed out. Both last attributes say that it has been so from the beginning
 * (KMIP 2.1 §4.3, §4.33): they fall for good if somebody with the rights to makes it Extractable later.
 */
export function extAttributes(ext: boolean | undefined): Bag {
  if (ext !== false) return {}
  return attributeBag({}, [
    boolean(Tag.Sensitive, true),
    boolean(Tag.AlwaysSensitive, true),
    boolean(Tag.Extractable, false),
    boolean(Tag.NeverExtractable, true),
  ])
}

/** The rows by which KMIP finds a key with these attributes; for the commit that creates it. */
export function extIndexChanges(
  id: ObjectId | undefined,
  { algorithm }: KeyMaterial,
  boundAlg: string | undefined,
  attributes: Bag,
): Change[] {
  return id === undefined ? [] : indexChanges(undefined, { id, algorithm, boundAlg, attributes })
}

/** false: its bytes are not given in clear, whoever asks. undefined for what has nothing secret. */
export function extOf(object: ManagedObject): boolean | undefined {
  if (object.type !== 'SymmetricKey' && object.type !== 'PrivateKey') return undefined
  const says = (tag: number, value: boolean): boolean =>
    storedWithTag(object, tag).some((node) => node.value === value)
  return !says(Tag.Extractable, false) && !says(Tag.Sensitive, true)
}
