import type { createPublicKey } from 'node:crypto'
import { failure, toFailure } from '@warder/base'
import {
  type Key,
  listKeyVersions,
  type ManagedObject,
  newestVersion,
  requirePermittedKey,
  versionNumber,
} from '@warder/keys'
import { readSettings } from './key-settings.ts'
import { findKeyType } from './key-type.ts'
import { type Context, toAlias } from './row.ts'
import { answer } from './text.ts'

/** Members of a key in Vault's names. */
type KeyView = Readonly<Record<string, unknown>>

/** @throws failure('not_found') */
export async function requireKey({ services }: Context, id: ManagedObject['id']): Promise<Key> {
  const key = await services.keys.get(id)
  if (key === undefined) throw failure('not_found', 'Key not found.')
  return key
}

/**
 * Describes a key to a caller who may read it: the alias of a caller may refer to a key of another owner.
 * @throws failure('not_found'); failure('forbidden')
 */
export async function describeToCaller(context: Context, name: string): Promise<KeyView> {
  const key = await requirePermittedKey(context, toAlias(name), 'getattributes')
  return formatKey(context, name, key)
}

/**
 * The answer to a change, which contains the key if the caller may read it: a right to change it includes no right to
 * read.
 */
export async function changeKey(context: Context, name: string): Promise<object> {
  try {
    return answer(await describeToCaller(context, name))
  } catch (thrown) {
    const { kind } = toFailure(thrown)
    if (kind !== 'forbidden' && kind !== 'not_found') throw thrown
    return answer(null)
  }
}

/** Versions that are shown of one key. */
const maxShown = 100

export async function formatKey(context: Context, name: string, key: Key): Promise<KeyView> {
  const { services } = context
  const { object } = key
  const type = findKeyType(object)
  const newest = await newestVersion(services.keys, key)
  const { deletionAllowed, minEncryptionVersion } = await readSettings(services, object.id)
  const versions = await listKeyVersions(services.db, object, { from: object.minGeneration, limit: maxShown })
  const keys: Record<string, unknown> = {}
  for (const one of versions.toReversed())
    keys[versionNumber(one)] = await formatVersion(context, one, type?.name)
  return {
    name,
    type: type?.name ?? 'unknown',
    latest_version: versionNumber(newest.object),
    min_decryption_version: object.minGeneration + 1,
    min_encryption_version: minEncryptionVersion,
    min_available_version: 0,
    deletion_allowed: deletionAllowed,
    derived: false,
    exportable: false,
    allow_plaintext_backup: false,
    imported_key: false,
    auto_rotate_period: 0,
    supports_encryption: type?.encrypts === true,
    supports_decryption: type?.encrypts === true,
    supports_signing: type?.signs === true,
    supports_derivation: false,
    ...(object.form.hsm !== undefined && { hsm: object.form.hsm.name, hardware: object.form.hsm.hardware }),
    keys,
  }
}

/** Of a secret key when it was made, of a pair the public half, too. */
async function formatVersion(
  { services }: Context,
  object: ManagedObject,
  type: string | undefined,
): Promise<unknown> {
  const madeAt = Math.floor(object.createdAt / 1000)
  if (object.type === 'SymmetricKey') return madeAt
  const version = await services.keys.get(object.id)
  const publicKey = version?.keyless === false ? version.held.publicKey : undefined
  return {
    name: object.curve ?? type,
    creation_time: new Date(object.createdAt).toISOString(),
    public_key: publicKey === undefined ? '' : toPem(publicKey, object),
  }
}

/** PEM of an RSA or EC key; the bytes of an Ed25519 key in base64, as in Vault. */
function toPem(key: ReturnType<typeof createPublicKey>, { algorithm }: ManagedObject): string {
  if (algorithm !== 'Ed25519') return key.export({ format: 'pem', type: 'spki' }).toString()
  const { x = '' } = key.export({ format: 'jwk' })
  return Buffer.from(x, 'base64url').toString('base64')
}
