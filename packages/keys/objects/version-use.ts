import { failure } from '@warder/base'
import type { Database } from '@warder/storage'
import type { Key, KeyRing } from './key-ring.ts'
import { findLinkTarget, getChainId, type ManagedObject } from './managed-object.ts'
import type { ObjectId } from './object-id.ts'
import { listKeyVersions } from './version-store.ts'

// Selects the version of a key that is used (docs/adr/key-life-cycle-and-versions.md). Front ends check rights on the
// object that the caller named, select the version here, and call `mayUse` on it, which refuses a version that is
// disabled or awaits destruction. A key that is withheld as a whole has these marks on every version
// (docs/adr/key-life-cycle-and-versions.md). A key that was never rotated needs no look-up at all.

/** Source of keys: the cache, or the staged changes of a request. */
export type KeyReader = Pick<KeyRing, 'get'>

/** Number of a version for callers: they count from 1, generations of KMIP from 0. */
export function versionNumber({ generation }: Pick<ManagedObject, 'generation'>): number {
  return generation + 1
}

/** Is the object a version of a key that is known by another id? */
export function isLaterVersion({ id, chainId }: Pick<ManagedObject, 'id' | 'chainId'>): boolean {
  return chainId !== undefined && chainId !== id
}

/**
 * Returns the version that protects when a caller names `key`: the newest version of a key, or the named version
 * itself. On PostgreSQL it may be the one before for as long as cached rows are trusted.
 * @throws failure('crypto_failure') for a version that a newer one has replaced, or that is too old; failure('not_found')
 */
export async function protectingVersion(keys: KeyReader, key: Key): Promise<Key> {
  const { newestId, supersededAt, chainId } = key.object
  // It may precede the newest version, which is activated later: a version that is not loaded cannot protect.
  if (newestId !== undefined) return within(key, await newest(keys, newestId))
  if (supersededAt !== undefined)
    throw failure(
      'crypto_failure',
      `A newer version has replaced this one, which can no longer encrypt or sign: use the key ${getChainId(key.object)}.`,
    )
  return chainId === undefined ? key : processingVersion(keys, key)
}

/** The newest version of the key that `key` is generation 0 of; else `key` itself. @throws failure('not_found') */
export async function newestVersion(keys: KeyReader, key: Key): Promise<Key> {
  const { newestId } = key.object
  return newestId === undefined ? key : newest(keys, newestId)
}

async function newest(keys: KeyReader, id: ObjectId): Promise<Key> {
  const key = there(await keys.get(id))
  // A version that is activated later (ReKey with an offset): until then the previous one is used.
  const before = key.object.state === 'PreActive' && key.state === 'PreActive' ? key.object : undefined
  const replaced = before && (findLinkTarget(before, 'ReplacedObjectLink') as ObjectId | undefined)
  if (replaced === undefined) return key
  const earlier = await newest(keys, replaced)
  return getChainId(earlier.object) === getChainId(key.object) ? earlier : key
}

function there(key: Key | undefined): Key {
  if (key === undefined) throw failure('not_found', 'Key not found.')
  return key
}

/**
 * The same version, if its key still permits it to process: see `minGeneration`.
 * @throws failure('crypto_failure'); failure('not_found')
 */
export async function processingVersion(keys: KeyReader, key: Key): Promise<Key> {
  const { chainId, id, generation, minGeneration } = key.object
  if (chainId === undefined || chainId === id) {
    if (generation < minGeneration) throw tooOld(generation)
    return key
  }
  return within(await keys.get(chainId), key)
}

function within(first: Key | undefined, key: Key): Key {
  const { object } = there(first)
  if (object.minGeneration > key.object.generation) throw tooOld(key.object.generation)
  return key
}

function tooOld(generation: number) {
  return failure(
    'crypto_failure',
    `Version ${generation + 1} is older than min_decrypt_version of the key and can no longer be used.`,
  )
}

/**
 * Versions to try if the input does not identify its version, the newest first, without those that the key no longer
 * permits to process. If the caller named a version: only that one.
 */
export async function* versionsToTry(
  { db, keys }: { readonly db: Database; readonly keys: KeyReader },
  key: Key,
): AsyncGenerator<Key, void, undefined> {
  const { object } = key
  if (object.newestId === undefined) {
    yield await processingVersion(keys, key)
    return
  }
  const newest = await newestVersion(keys, key)
  // The previous version, if the newest begins later.
  if (newest.object.generation >= object.minGeneration) yield newest
  for (let before: number | undefined; ; ) {
    const page = await listKeyVersions(db, object, {
      from: object.minGeneration,
      limit: pageSize,
      ...(before !== undefined && { before }),
    })
    for (const { id, generation } of page) {
      before = generation
      const version = id === object.newestId ? undefined : await keys.get(id)
      if (version !== undefined) yield version
    }
    if (page.length < pageSize) return
  }
}

const pageSize = 100
