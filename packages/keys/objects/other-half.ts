import type { Database } from '@warder/storage'
import { findLinkTarget, type ManagedObject } from './managed-object.ts'
import { findObject } from './object-store.ts'

/** The other half of a pair, if it links back and has the same owner: a user can link to another user's object. */
export async function otherHalf(db: Database, object: ManagedObject): Promise<ManagedObject | undefined> {
  if (object.linkedId === undefined) return undefined
  const linked = await findObject(db, object.linkedId)
  return linked?.linkedId === object.id && linked.owner === object.owner ? linked : undefined
}

/** A key as users see it: the object and, for a pair, its other half. */
export async function wholeKey(db: Database, object: ManagedObject): Promise<readonly ManagedObject[]> {
  const linked = await otherHalf(db, object)
  return linked === undefined ? [object] : [object, linked]
}

/** The private key of a pair, by the pair or by a link. */
export function findPrivateKeyId(object: ManagedObject): string | undefined {
  return (
    findLinkTarget(object, 'PrivateKeyLink') ?? (object.type === 'PublicKey' ? object.linkedId : undefined)
  )
}
