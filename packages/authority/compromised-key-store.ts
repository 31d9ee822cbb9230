import { createHash, createPublicKey } from 'node:crypto'
import { failure } from '@warder/base'
import type { ManagedObject, UnitOfWork } from '@warder/keys'
import { parseSpki } from '@warder/pki'
import { type Change, change, type Database, query } from '@warder/storage'

/** Applies to every owner: possession of the private key was proved. */
const everyOwner = '*'

const known = query<[keyId: string, owner: string, everyOwner: string], { readonly key_id: string }>(
  'SELECT key_id FROM pki_compromised_key WHERE key_id = ? AND owner IN (?, ?) LIMIT 1',
)
const insert = query<[keyId: string, owner: string, at: number], unknown>(
  'INSERT INTO pki_compromised_key (key_id, owner, reported_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
)

/** Identifies a public key, however its point or its algorithm is encoded. @throws PkiError */
export function toKeyId(spki: Uint8Array): string {
  return createHash('sha256').update(keyBytes(spki)).digest('base64url')
}

function keyBytes(spki: Uint8Array): Uint8Array {
  const { key } = parseSpki(spki)
  // A compressed or hybrid point (SEC 1 §2.3.3) is the same key as the uncompressed one.
  if (key[0] === 4) return key
  try {
    const { x, y } = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' }).export({
      format: 'jwk',
    })
    if (typeof x !== 'string' || typeof y !== 'string') return key
    return Buffer.concat([Uint8Array.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  } catch {
    // A kind of key without a JWK has one encoding.
    return key
  }
}

/**
 * Remembers that a private key may be known to others: no interface certifies its public key again.
 * @param keyId see `toKeyId`
 * @param owner undefined if possession of the key was proved; otherwise the mark applies only to this owner, because a
 *   client could get a certificate for another client's public key and report it
 */
export function markCompromisedChange(keyId: string, owner: string | undefined, now: number): Change {
  return change(insert, [keyId, owner ?? everyOwner, now])
}

/** @throws Failure bad_request; PkiError */
export async function requireNotCompromised(db: Database, spki: Uint8Array, owner: string): Promise<void> {
  if (!(await isCompromised(db, spki, owner))) return
  throw failure('bad_request', 'The private key was reported as compromised: create and certify a new key.')
}

/**
 * Refuses a compromised key: another certificate of the authority with that key may still be valid.
 * @param owner of the authority
 * @throws Failure bad_request; PkiError
 */
export async function requireAuthorityNotCompromised(
  db: Database,
  spki: Uint8Array,
  owner: string,
): Promise<void> {
  if (await isCompromised(db, spki, owner))
    throw failure(
      'bad_request',
      'The private key of the authority was reported as compromised: it can no longer issue certificates.',
    )
}

async function isCompromised(db: Database, spki: Uint8Array, owner: string): Promise<boolean> {
  return (await db.get(known, [toKeyId(spki), owner, everyOwner])) !== undefined
}

/** Stages the same mark for a stored key. Called before the state of the key changes. */
export async function stageCompromisedKey(
  objects: UnitOfWork,
  object: ManagedObject,
  now: number,
): Promise<void> {
  const isPrivate = object.type === 'PrivateKey'
  if (!isPrivate && object.type !== 'PublicKey') return
  // Attribute-based keys have no public key that could be certified.
  if (object.form.abe !== undefined) return
  if (object.destroyedAt !== undefined || object.form.wrapped === true) return
  const key = await objects.key(object.id)
  // Attribute-based keys, and keys that are stored as they were received, cannot be certified.
  if (key === undefined || key.keyless) return
  const spki = key.held.publicKey?.export({ format: 'der', type: 'spki' })
  if (spki === undefined) return
  objects.also(markCompromisedChange(toKeyId(spki), isPrivate ? undefined : object.owner, now))
}
