import { type Change, change, type Database, insertInto, query } from '@warder/storage'

export type AccountStatus = 'valid' | 'deactivated' | 'revoked'

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
