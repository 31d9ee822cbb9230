import { linkedObject, type ManagedObject } from '../../../keys/index.ts'

/** The private key of a pair, by the pair or by a link. */
export function privateKeyOf(object: ManagedObject): string | undefined {
  return linkedObject(object, 'PrivateKeyLink') ?? (object.type === 'PublicKey' ? object.linkedId : undefined)
}
