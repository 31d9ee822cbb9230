import { everyPrincipal, externalPrefix, externalPrincipal, normalizeName } from '@warder/keys'
import { type Change, change, type Database, query, type Seal, type SealContext } from '@warder/storage'
import type { Grantee } from '../scope/granted-key.ts'

/** A key store of AWS: the path before `/kms/xks/v1`. */
export interface XksStore {
  readonly uriPrefix: string
  /** Whether it is the first key store in the settings, to which names without a path refer. */
  readonly isFirst: boolean
}

/** Prefix of the names of one key store in grants: `aws:/payments:`. */
function storePrefix(uriPrefix: string): string {
  return externalPrincipal('aws', `${uriPrefix === '' ? '/' : uriPrefix}:`)
}

/**
 * Names of a principal of a key store in grants and blocks: with the path of its store, and for the first store also
 * without a path. Grants made before names were normalized match as written.
 */
function namesInStore({ uriPrefix, isFirst }: XksStore, principal: string): readonly string[] {
  const plain = externalPrincipal('aws', principal)
  const names = [normalizeName(`${storePrefix(uriPrefix)}${principal}`)]
  if (isFirst) names.push(normalizeName(plain), plain)
  return [...new Set(names)]
}

/** A principal of a key store, as AWS KMS names it. */
export function granteeInStore(store: XksStore, principal: string): Grantee {
  return {
    store: 'aws',
    names: namesInStore(store, principal),
    allUsers: namesInStore(store, everyPrincipal),
    ...(store.isFirst
      ? { beginning: externalPrefix('aws'), except: externalPrincipal('aws', '/') }
      : { beginning: storePrefix(store.uriPrefix) }),
  }
}

/** Extracts the path of the key store from a normalized name; undefined if it has none. */
export function readStorePath(name: string): string | undefined {
  const [, path] = /^aws:(\/[A-Za-z0-9_/-]*):/.exec(name) ?? []
  return path === '/' ? '' : path
}

/** Members of an access key that every manager of external key stores may read. */
export interface AccessKeyRow {
  readonly id: string
  /** Path before `/kms/xks/v1`; empty, or beginning with a slash. */
  readonly uri_prefix: string
  readonly region: string
  /** Unix milliseconds. */
  readonly created_at: number
  readonly created_by: string
}

interface SecretRow extends AccessKeyRow {
  readonly secret: Uint8Array
  readonly version: number
}

/** Topic of `db.changed`: the keys are ids of access keys. */
export const accessKeyTopic = 'aws_access_key'

const columns = 'id, uri_prefix, region, created_at, created_by'
const byId = query<[id: string], SecretRow>(
  `SELECT ${columns}, secret, version FROM aws_access_key WHERE id = ?`,
)
const all = query<[most: number], AccessKeyRow>(
  `SELECT ${columns} FROM aws_access_key ORDER BY created_at, id LIMIT ?`,
)
const insert = query<
  [id: string, prefix: string, region: string, secret: Uint8Array, at: number, by: string],
  unknown
>(
  `INSERT INTO aws_access_key (id, uri_prefix, region, secret, created_at, created_by, version)
   VALUES (?, ?, ?, ?, ?, ?, 1)`,
)
const ofMaker = query<[prefix: string, by: string], { readonly id: string }>(
  'SELECT id FROM aws_access_key WHERE uri_prefix = ? AND created_by = ? LIMIT 1',
)
/** Uses of keys that a key store was granted and a user was not. */
const beyondUser = query<
  [length: number, prefix: string, isFirst: number, user: string, user: string],
  GrantBeyond
>(
  `SELECT g.object_id AS id, g.operation FROM object_grant g JOIN managed_object o ON o.id = g.object_id
   WHERE (substr(g.user_id, 1, ?) = ?
       OR (CAST(? AS BIGINT) = 1 AND substr(g.user_id, 1, 4) = 'aws:' AND substr(g.user_id, 5, 1) <> '/'))
     AND g.operation IN ('encrypt', 'decrypt') AND o.destroyed_at IS NULL AND o.owner <> ?
     AND NOT EXISTS (SELECT 1 FROM object_grant m WHERE m.object_id = g.object_id
       AND m.operation = g.operation AND m.user_id IN (?, '*'))
   ORDER BY g.object_id LIMIT 1`,
)
const remove = query<[id: string], unknown>('DELETE FROM aws_access_key WHERE id = ?')

export const accessKeyVersion = query<[id: string], { readonly version: number }>(
  'SELECT version FROM aws_access_key WHERE id = ?',
)

function secretSealContext(id: string): SealContext {
  return { table: 'aws_access_key', row: id, column: 'secret' }
}

/** With its secret in clear. */
export async function readAccessKey(
  db: Database,
  seal: Seal,
  id: string,
): Promise<(AccessKeyRow & { readonly version: number; readonly clear: Uint8Array }) | undefined> {
  const row = await db.get(byId, [id])
  if (row === undefined) return undefined
  return { ...row, clear: await seal.open(secretSealContext(id), row.secret) }
}

/** Maximum number of access keys. */
export const maxAccessKeys = 100

export async function listAccessKeys(db: Database): Promise<readonly AccessKeyRow[]> {
  return db.all(all, [maxAccessKeys + 1])
}

interface GrantBeyond {
  /** Of the key. */
  readonly id: string
  readonly operation: string
}

/**
 * Finds a use of a key that an access key of this store would add to the user's own; undefined: there is none.
 */
export async function useBeyond(
  db: Database,
  user: string,
  { uriPrefix, isFirst }: XksStore,
): Promise<GrantBeyond | undefined> {
  // The user already has this use through an access key of the same store.
  if ((await db.get(ofMaker, [uriPrefix, user])) !== undefined) return undefined
  const prefix = storePrefix(uriPrefix)
  return db.get(beyondUser, [prefix.length, prefix, isFirst ? 1 : 0, user, user])
}

/** Stores a new access key; `clear` is sealed for its row. */
export function insertAccessKey(seal: Seal, row: AccessKeyRow, clear: Uint8Array): Change {
  const { id, uri_prefix, region, created_at, created_by } = row
  const sealed = seal.seal(secretSealContext(id), clear)
  return change(insert, [id, uri_prefix, region, sealed, created_at, created_by], 1)
}

/** Fails if the access key does not exist. */
export function removeAccessKey(db: Database, id: string): Change[] {
  return [change(remove, [id], 1), db.changed(accessKeyTopic, id)]
}
