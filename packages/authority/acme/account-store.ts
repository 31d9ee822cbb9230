import {
  type Change,
  change,
  type Database,
  insertInto,
  query,
  type Seal,
  type SealContext,
} from '@warder/storage'

type AccountStatus = 'valid' | 'deactivated' | 'revoked'

/** An account of a directory. */
export interface Account {
  readonly id: string
  readonly authorityId: string
  /** RFC 7638, of its key; unique in the directory. */
  readonly thumbprint: string
  /** JSON of the public key. */
  readonly jwk: string
  readonly status: AccountStatus
  readonly contact: readonly string[]
  /** The user that it acts for. */
  readonly owner: string
  /** The credential that it was bound with. */
  readonly credential: string | undefined
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly version: number
}

interface Row {
  readonly id: string
  readonly authority_id: string
  readonly thumbprint: string
  readonly jwk: string
  readonly status: string
  readonly contact: string
  readonly owner: string
  readonly credential: string | null
  readonly created_at: number
  readonly version: number
}

const columnNames = [
  'id',
  'authority_id',
  'thumbprint',
  'jwk',
  'status',
  'contact',
  'owner',
  'credential',
  'created_at',
  'version',
] as const
const columns = columnNames.join(', ')
const byId = query<[id: string, authority: string], Row>(
  `SELECT ${columns} FROM acme_account WHERE id = ? AND authority_id = ?`,
)
const byKey = query<[authority: string, thumbprint: string], Row>(
  `SELECT ${columns} FROM acme_account WHERE authority_id = ? AND thumbprint = ?`,
)
const page = query<[authority: string, after: string, limit: number], Row>(
  `SELECT ${columns} FROM acme_account WHERE authority_id = ? AND id > ? ORDER BY id LIMIT ?`,
)
const countSince = query<[authority: string, since: number], { readonly n: number }>(
  'SELECT COUNT(*) AS n FROM acme_account WHERE authority_id = ? AND created_at > ?',
)
const insert = insertInto<
  [string, string, string, string, string, string, string, string | null, number, number]
>('acme_account', columnNames)
const update = query<
  [thumbprint: string, jwk: string, status: string, contact: string, id: string, version: number],
  unknown
>(
  `UPDATE acme_account SET thumbprint = ?, jwk = ?, status = ?, contact = ?, version = version + 1
     WHERE id = ? AND version = ?`,
)

export async function findAccount(
  db: Database,
  authorityId: string,
  id: string,
): Promise<Account | undefined> {
  const row = await db.get(byId, [id, authorityId])
  return row && toAccount(row)
}

export async function findAccountByKey(
  db: Database,
  authorityId: string,
  thumbprint: string,
): Promise<Account | undefined> {
  const row = await db.get(byKey, [authorityId, thumbprint])
  return row && toAccount(row)
}

/** Lists accounts by identifier, which is the order of creation. */
export async function listAccounts(
  db: Database,
  authorityId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly Account[]> {
  return (await db.all(page, [authorityId, after, limit])).map(toAccount)
}

/** Counts the accounts created after a time. */
export async function countAccounts(db: Database, authorityId: string, since: number): Promise<number> {
  return Number((await db.get(countSince, [authorityId, since]))?.n ?? 0)
}

/** @throws UniqueViolation by the commit when the key already has an account */
export function insertAccount(account: Omit<Account, 'version'>): Change {
  const { id, authorityId, thumbprint, jwk, status, contact, owner, credential, createdAt } = account
  return change(
    insert,
    [
      id,
      authorityId,
      thumbprint,
      jwk,
      status,
      JSON.stringify(contact),
      owner,
      credential ?? null,
      createdAt,
      1,
    ],
    1,
  )
}

/** Guarded by the version that was read. @throws UniqueViolation by the commit, when the key has another account */
export function updateAccount(
  account: Account,
  to: Partial<Pick<Account, 'thumbprint' | 'jwk' | 'status' | 'contact'>>,
): Change {
  const { thumbprint, jwk, status, contact, id, version } = { ...account, ...to }
  return change(update, [thumbprint, jwk, status, JSON.stringify(contact), id, version], 1)
}

function toAccount(row: Row): Account {
  return {
    id: row.id,
    authorityId: row.authority_id,
    thumbprint: row.thumbprint,
    jwk: row.jwk,
    status: row.status as AccountStatus,
    contact: JSON.parse(row.contact) as string[],
    owner: row.owner,
    credential: row.credential ?? undefined,
    createdAt: row.created_at,
    version: row.version,
  }
}

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

interface CredentialRow {
  readonly id: string
  readonly authority_id: string
  readonly owner: string
  readonly name: string
  readonly created_at: number
  readonly expires_at: number
  readonly account: string | null
}

const credentialColumns = 'id, authority_id, owner, name, created_at, expires_at, account'
const credentialById = query<
  [id: string, authority: string],
  CredentialRow & { readonly mac_key: Uint8Array }
>(`SELECT ${credentialColumns}, mac_key FROM acme_credential WHERE id = ? AND authority_id = ?`)
const credentialPage = query<[authority: string, after: string, limit: number], CredentialRow>(
  `SELECT ${credentialColumns} FROM acme_credential WHERE authority_id = ? AND id > ? ORDER BY id LIMIT ?`,
)
const insertRow = insertInto<[string, string, string, string, number, number, Uint8Array]>(
  'acme_credential',
  ['id', 'authority_id', 'owner', 'name', 'created_at', 'expires_at', 'mac_key'],
)
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
  const row = await db.get(credentialById, [id, authorityId])
  if (row === undefined) return undefined
  return { credential: toCredential(row), macKey: await seal.open(sealContext(id), row.mac_key) }
}

export async function listCredentials(
  db: Database,
  authorityId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly Credential[]> {
  return (await db.all(credentialPage, [authorityId, after, limit])).map(toCredential)
}

export function insertCredential(
  seal: Seal,
  { id, authorityId, owner, name, createdAt, expiresAt }: Omit<Credential, 'account'>,
  macKey: Uint8Array,
): Change {
  const sealed = seal.seal(sealContext(id), macKey)
  return change(insertRow, [id, authorityId, owner, name, createdAt, expiresAt, sealed], 1)
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

function toCredential(row: CredentialRow): Credential {
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
