import { findWithMaterial, listIdsWithMaterial, type ObjectId, openKey } from '@warder/keys'
import type { Database, Seal } from '@warder/storage'

interface OpenedKeys {
  readonly opened: number
  /** Ids of objects that cannot be decrypted. */
  readonly broken: readonly string[]
}

const page = 100

/**
 * Decrypts the material of objects in the same way as their use does, in any state, without using the keys.
 * @param most max number of objects to try
 */
export async function tryKeys(db: Database, seal: Seal, most: number): Promise<OpenedKeys> {
  const broken: string[] = []
  let opened = 0
  let after = ''
  while (opened + broken.length < most) {
    const ids = await listIdsWithMaterial(db, after, Math.min(page, most - opened - broken.length))
    for (const id of ids) {
      if (await opens(db, seal, id as ObjectId)) opened += 1
      else broken.push(id)
    }
    after = ids.at(-1) ?? after
    if (ids.length < page) break
  }
  return { opened, broken }
}

async function opens(db: Database, seal: Seal, id: ObjectId): Promise<boolean> {
  try {
    const found = await findWithMaterial(db, seal, id)
    if (found?.material === undefined) return false
    try {
      const { problem } = await openKey(found.object, found.material)
      return problem === undefined
    } finally {
      found.material.fill(0)
    }
  } catch {
    return false
  }
}
