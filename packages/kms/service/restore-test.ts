import { Failure } from '@warder/base'
import { findWithMaterial, listIdsWithMaterial, type ObjectId, openKey } from '@warder/keys'
import type { Database, Seal } from '@warder/storage'

interface OpenedKeys {
  readonly opened: number
  /** Sealed correctly, but a key in an HSM wraps the material: it was not contacted. */
  readonly wrapped: number
  /** Ids of objects that cannot be decrypted. */
  readonly broken: readonly string[]
}

const page = 100

/**
 * Decrypts the material of objects in the same way as their use does, in any state, without using the keys.
 * Material that a key in an HSM wraps is only unsealed.
 * @param most max number of objects to try
 */
export async function tryKeys(db: Database, seal: Seal, most: number): Promise<OpenedKeys> {
  const broken: string[] = []
  const counts = { opened: 0, wrapped: 0 }
  let after = ''
  for (let left = most; left > 0; ) {
    const ids = await listIdsWithMaterial(db, after, Math.min(page, left))
    left -= ids.length
    for (const id of ids) {
      const result = await tryKey(db, seal, id as ObjectId)
      if (result === 'broken') broken.push(id)
      else counts[result] += 1
    }
    after = ids.at(-1) ?? after
    if (ids.length < page) break
  }
  return { ...counts, broken }
}

async function tryKey(db: Database, seal: Seal, id: ObjectId): Promise<'opened' | 'wrapped' | 'broken'> {
  try {
    const found = await findWithMaterial(db, seal, id, undefined)
    if (found?.material === undefined) return 'broken'
    try {
      const { problem } = await openKey(found.object, found.material)
      return problem === undefined ? 'opened' : 'broken'
    } finally {
      found.material.fill(0)
    }
  } catch (error) {
    return error instanceof Failure && error.kind === 'hsm_unavailable' ? 'wrapped' : 'broken'
  }
}
