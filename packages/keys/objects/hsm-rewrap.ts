import { timingSafeEqual } from 'node:crypto'
import { Failure, failure } from '@warder/base'
import { type Database, GuardFailed, retryOnGuard, type Seal } from '@warder/storage'
import { unwrapMaterial } from '../hsm/wrapped-material.ts'
import { findWrappingKeyFor, wrapForRow } from './hsm-wrapping.ts'
import type { KeyRing } from './key-ring.ts'
import { tagsOfPair } from './name-link-tag-store.ts'
import type { ObjectId } from './object-id.ts'
import { findObject, findWithMaterial, wrappingChanges } from './object-store.ts'

interface RewrapServices {
  readonly db: Database
  readonly seal: Seal
  readonly keys: Pick<KeyRing, 'get' | 'hsms'>
}

const attempts = 5

/**
 * Wraps the material of an object as the settings require now, in one commit that is guarded by the version of its row.
 * The HSM unwraps the new wrapping before it replaces the old one: a token that returns garbage destroys nothing.
 * @returns whether the wrapping was replaced
 * @throws Failure 422, 503; GuardFailed if the object is changed again and again
 */
export async function rewrapObject(services: RewrapServices, id: ObjectId, now: number): Promise<boolean> {
  const { db, keys, seal } = services
  return retryOnGuard(attempts, async () => {
    const object = await findObject(db, id)
    if (object === undefined) return false
    const readTags = () => tagsOfPair(db, object)
    const key = await findWrappingKeyFor(services, object, readTags)
    if (key?.object.id === object.wrappingKey) return false
    const found = await findWithMaterial(db, seal, id, keys.hsms)
    if (found?.material === undefined) return false
    try {
      if (found.object.version !== object.version) throw new GuardFailed(0)
      const wrapped = await wrapForRow({ ...services, now }, object, readTags, found.material)
      if (wrapped !== undefined) {
        const row = { object: id, wrappingKey: wrapped.wrappingKey }
        await requireUnwraps(keys.hsms, row, wrapped.material, found.material)
      }
      const clear = { material: found.material, wrappingKey: undefined }
      await db.commit(wrappingChanges(db, seal, object, wrapped ?? clear))
      return true
    } finally {
      found.material.fill(0)
    }
  })
}

/** @throws failure('crypto_failure') if the HSM returned garbage when it wrapped, or returns it now */
async function requireUnwraps(
  hsms: RewrapServices['keys']['hsms'],
  row: { readonly object: string; readonly wrappingKey: string },
  wrapped: Uint8Array,
  material: Uint8Array,
): Promise<void> {
  const toRewrapFailure = (cause?: unknown) =>
    failure(
      'crypto_failure',
      `The HSM did not unwrap what it wrapped with ${row.wrappingKey}: nothing was changed.`,
      {
        cause,
      },
    )
  let unwrapped: Uint8Array
  try {
    unwrapped = await unwrapMaterial(hsms, row, wrapped)
  } catch (error) {
    if (error instanceof Failure && error.kind === 'crypto_failure') throw toRewrapFailure(error)
    throw error
  }
  const isSame = unwrapped.length === material.length && timingSafeEqual(unwrapped, material)
  unwrapped.fill(0)
  if (!isSame) throw toRewrapFailure()
}
