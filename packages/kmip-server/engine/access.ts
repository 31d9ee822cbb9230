import type { Right } from '@warder/keys'
import { Tag } from '@warder/kmip-codec'
import type { KmipAccess } from './types.ts'

/** All authenticated callers. */
export const signedIn: KmipAccess = { kind: 'signed in' }

/** Requires the right to create objects. */
export const creates: KmipAccess = { kind: 'create' }

export interface ObjectAccessOptions {
  /** Tag of the member that names the object; default UniqueIdentifier. */
  readonly member?: number
  /** true: also requires the right to create objects (ReKey, DeriveKey …). */
  readonly creates?: boolean
}

/** Requires `right` on the object that the payload names, which becomes `context.object`. */
export function objectRight(right: Right, options: ObjectAccessOptions = {}): KmipAccess {
  return objectAccess(right, options, false)
}

/** As `objectRight`, for operations that use the key: `context.key` is the decrypted key. */
export function keyUse(right: Right, options: ObjectAccessOptions = {}): KmipAccess {
  return objectAccess(right, options, true)
}

function objectAccess(right: Right, options: ObjectAccessOptions, key: boolean): KmipAccess {
  const { member = Tag.UniqueIdentifier, creates = false } = options
  return { kind: 'object', right, member, key, creates }
}
