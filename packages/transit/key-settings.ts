import {
  addTagChanges,
  findObject,
  findTags,
  keyNotFound,
  markForWrapping,
  type ObjectId,
  removeTagChanges,
  touchChanges,
} from '@warder/keys'
import type { TransitServices } from './services.ts'

// Settings of a key that only this interface knows: tags of the system, which users neither see nor set, and
// which go with the key.

const deletable = '_transit-deletable'
const minEncryption = '_transit-min-encryption-'

export interface TransitSettings {
  readonly deletionAllowed: boolean
  /** Stored only for clients to read back: only the newest version protects here. */
  readonly minEncryptionVersion: number
}

export async function readSettings(
  { db }: Pick<TransitServices, 'db'>,
  id: ObjectId,
): Promise<TransitSettings> {
  const tags = await findTags(db, id)
  const min = tags.find((tag) => tag.startsWith(minEncryption))
  return {
    deletionAllowed: tags.includes(deletable),
    minEncryptionVersion: min === undefined ? 0 : Number(min.slice(minEncryption.length)),
  }
}

/** Changes that set the settings, guarded by the version of the key. @throws failure('not_found') */
export async function settingsChanges(
  { db, clock }: Pick<TransitServices, 'db' | 'clock'>,
  id: ObjectId,
  wanted: Partial<TransitSettings>,
) {
  const object = await findObject(db, id)
  if (object === undefined) throw keyNotFound()
  const before = await readSettings({ db }, id)
  const { deletionAllowed, minEncryptionVersion } = { ...before, ...wanted }
  const min = (version: number) => (version === 0 ? [] : [`${minEncryption}${version}`])
  return [
    ...touchChanges(db, object, clock.now()),
    ...removeTagChanges(id, [deletable, ...min(before.minEncryptionVersion)]),
    markForWrapping(id),
    ...addTagChanges(id, [...(deletionAllowed ? [deletable] : []), ...min(minEncryptionVersion)]),
  ]
}
