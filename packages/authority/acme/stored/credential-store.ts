import {
  type Change,
  change,
  type Database,
  insertInto,
  query,
  type Seal,
  type SealContext,
} from '@warder/storage'

/** A key with which one account is bound to a user (RFC 8555 §7.3.4). */
export interface Credential {
  /** The `kid` of the binding. */
  readonly id: string
  readonly authorityId: string
  /** The user that the account will act for. */
  readonly owner: string
  /** A name for operators to recognize it by. */
  readonly name: string
  readonly createdAt: number
  /** Unix milliseconds. An account can be bound with it until then. */
  readonly expiresAt: number
  /** The account that was bound with it. */
  readonly account: string | undefined
}

interface Row {
  readonly id: string
  readonly authority_id: string
  readonly owner: string
  readonly name: string
  readonly created_at: number
  readonly expires_at: number
  readonly account: string | null
}

const columns = 'id, authority_id, owner, name, created_at, expires_at, account'
const byId = query<[id: string, authority: string], Row & { readonly mac_key: Uint8Array }>(
  `SELECT ${columns}, mac_key FROM acme_credential WHERE id = ? AND authority_id = ?`,
)
const page = query<[authority: string, after: string, limit: number], Row>(
  `SELECT ${columns} FROM acme_credential WHERE authority_id = ? AND id > ? ORDER BY id LIMIT ?`,
)
const insert = insertInto<[string, string, string, string, number, number, Uint8Array]>('acme_credential', [
  'id',
  'authority_id',
  'owner',
  'name',
  'created_at',
  'expires_at',
  'mac_key',
])
const bind = query<[account: string, id: string, now: number], unknown>(
  'UPDATE acme_credential SET account = ? WHERE id = ? AND account IS NULL AND expires_at > ?',
)
const remove = query<[id: string, authority: string], unknown>(
  'DELETE FROM acme_credential WHERE id = ? AND authority_id = ?',
)
const sweep = query<[now: number], unknown>(
  'DELETE FROM acme_credential WHERE expires_at <= ? AND account IS NULL',
)

const sealContext = (id: string): SealContext => ({ table: 'acme_credential', row: id, column: 'mac_key' })

/** The credential and its key. */
export async function findCredential(
  db: Database,
  seal: Seal,
  authorityId: string,
  id: string,
): Promise<{ readonly credential: Credential; readonly macKey: Uint8Array } | undefined> {
  const row = await db.get(byId, [id, authorityId])
  if (row === undefined) return undefined
  return { credential: toCredential(row), macKey: await seal.open(sealContext(id), row.mac_key) }
}

export async function listCredentials(
  db: Database,
  authorityId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly Credential[]> {
  return (await db.all(page, [authorityId, after, limit])).map(toCredential)
}

export function insertCredential(
  seal: Seal,
  { id, authorityId, owner, name, createdAt, expiresAt }: Omit<Credential, 'account'>,
  macKey: Uint8Array,
): Change {
  const sealed = seal.seal(sealContext(id), macKey)
  return change(insert, [id, authorityId, owner, name, createdAt, expiresAt, sealed], 1)
}

/** The guard fails when an account was bound with it before, or it has expired. */
export function bindCredential(id: string, account: string, now: number): Change {
  return change(bind, [account, id, now], 1)
}

/** The guard fails when there is no such credential. */
export function removeCredential(authorityId: string, id: string): Change {
  return change(remove, [id, authorityId], 1)
}

/** Deletes credentials that expired unused. */
export function sweepCredentials(now: number): Change {
  return change(sweep, [now])
}

function toCredential(row: Row): Credential {
  return {
    id: row.id,
    authorityId: row.authority_id,
    owner: row.owner,
    name: row.name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    account: row.account ?? undefined,
  }
}
