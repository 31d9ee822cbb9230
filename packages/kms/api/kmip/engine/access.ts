import { Tag } from '@warder/kmip/tables'
import type { Right } from '../../../access/index.ts'
import type { KmipAccess } from './types.ts'

/** Everybody who is authenticated. */
export const signedIn: KmipAccess = { kind: 'signed in' }

/** Requires the right to create objects. */
export const creates: KmipAccess = { kind: 'create' }

export interface ObjectAccessOptions {
  /** Tag of the member that names the object; default UniqueIdentifier. */
  readonly member?: number
  /** true: takes the right to create objects as well (ReKey, DeriveKey …). */
  readonly creates?: boolean
}

/** Requires `right` on the object that the payload names; `context.object` is it. */
export function objectRight(right: Right, options: ObjectAccessOptions = {}): KmipAccess {
  return objectAccess(right, options, false)
}

/** As `objectRight` for operations that use the key: `context.key` is it, opened. */
export function keyUse(right: Right, options: ObjectAccessOptions = {}): KmipAccess {
  return objectAccess(right, options, true)
}

function objectAccess(right: Right, options: ObjectAccessOptions, key: boolean): KmipAccess {
  const { member = Tag.UniqueIdentifier, creates = false } = options
  return { kind: 'object', right, member, key, creates }
}
