import { type Change, change, type Database, query, readOne } from '@warder/storage'
import { releaseHsmKeys } from '../hsm/hsm-key-store.ts'
import { getChainId, type ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'
import { objectTopic, removalChanges } from './object-store.ts'
import { reserveChainIds } from './removed-id-store.ts'

/** Versions that one key can have. */
export const maxVersions = 10_000

const page = query<[chain: string, from: number, before: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE chain_id = ? AND generation >= ? AND generation < ?
     ORDER BY generation DESC LIMIT ?`,
)
const one = query<[chain: string, generation: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE chain_id = ? AND generation = ?`,
)
const rows = query<[chain: string], { readonly id: string }>(
  'SELECT id FROM managed_object WHERE chain_id = ? ORDER BY generation',
)
/** Rows that belong to the versions of a chain, and then the versions themselves. */
const parts = [
  'object_name',
  'object_link',
  'object_attribute',
  'object_tag',
  'object_grant',
  'gcm_budget',
  'object_use',
].map((table) =>
  query<[chain: string], unknown>(
    `DELETE FROM ${table} WHERE object_id IN (SELECT id FROM managed_object WHERE chain_id = ?)`,
  ),
)
const aliases = query<[chain: string], unknown>(
  'DELETE FROM key_alias WHERE key_id IN (SELECT id FROM managed_object WHERE chain_id = ?)',
)
const linksTo = query<[chain: string], unknown>(
  'DELETE FROM object_link WHERE linked_id IN (SELECT id FROM managed_object WHERE chain_id = ?)',
)
const whole = query<[chain: string], unknown>('DELETE FROM managed_object WHERE chain_id = ?')
const guard = query<[id: string, version: number], unknown>(
  'UPDATE managed_object SET version = version + 1 WHERE id = ? AND version = ?',
)

export interface VersionRange {
  /** The lowest generation; default 0. */
  readonly from?: number
  /** Generations below this one; default all. */
  readonly before?: number
  readonly limit: number
}

/** Versions of a key, the newest first. Of a key that was never rotated: itself. */
export async function listKeyVersions(
  db: Database,
  key: ManagedObject,
  { from = 0, before = maxVersions, limit }: VersionRange,
): Promise<readonly ManagedObject[]> {
  if (key.chainId === undefined) return from === 0 && before > 0 ? [key] : []
  return (await db.all(page, [key.chainId, from, before, limit])).map(toObject)
}

/** One version of a key; undefined: it has no such version (any more). */
export async function findKeyVersion(
  db: Database,
  key: ManagedObject,
  generation: number,
): Promise<ManagedObject | undefined> {
  if (key.chainId === undefined) return generation === 0 ? key : undefined
  return readOne(db, one, [key.chainId, generation], toObject)
}

/** Rows that are withheld together: all versions of a rotated key, or only the version that is named. */
export async function withVersions(
  db: Database,
  objects: readonly ManagedObject[],
): Promise<readonly ManagedObject[]> {
  const all = await Promise.all(
    objects.map((object) =>
      object.chainId === object.id ? listKeyVersions(db, object, { limit: maxVersions }) : [object],
    ),
  )
  return all.flat()
}

/**
 * Removes keys, each with all of its versions; a named version is removed alone. One commit, guarded by the read
 * versions.
 */
export async function keyRemovalChanges(
  db: Database,
  removed: readonly ManagedObject[],
  now: number,
): Promise<Change[]> {
  const changes: Change[] = []
  for (const object of removed)
    changes.push(
      ...(object.chainId === object.id
        ? await chainRemovalChanges(db, object, now)
        : removalChanges(db, [object], now)),
    )
  return changes
}

/**
 * Removes a key with all of its versions, guarded by its own row: each rotation changes it.
 * @param first generation 0, as read
 */
async function chainRemovalChanges(db: Database, first: ManagedObject, now: number): Promise<Change[]> {
  const chain = getChainId(first)
  const ids = (await db.all(rows, [chain])).map(({ id }) => id)
  return [
    change(guard, [first.id, first.version], 1),
    ...parts.map((statement) => change(statement, [chain])),
    change(linksTo, [chain]),
    change(aliases, [chain]),
    reserveChainIds(chain, now),
    ...(first.form.hsm === undefined ? [] : [releaseHsmKeys(chain, now)]),
    change(whole, [chain], ids.length),
    ...ids.map((id) => db.changed(objectTopic, id)),
  ]
}
