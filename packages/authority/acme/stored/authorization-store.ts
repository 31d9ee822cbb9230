import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import type { Challenge, Identifier } from './challenge.ts'

/** Whether an account controls an identifier, for one order. */
export interface Authorization {
  readonly id: string
  readonly orderId: string
  readonly accountId: string
  readonly identifier: Identifier
  readonly wildcard: boolean
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated'
  readonly challenges: readonly Challenge[]
  readonly expiresAt: number
  readonly version: number
}

interface Row {
  readonly id: string
  readonly order_id: string
  readonly account_id: string
  readonly identifier: string
  readonly wildcard: number
  readonly status: string
  readonly challenges: string
  readonly expires_at: number
  readonly version: number
}

const columnNames = [
  'id',
  'order_id',
  'account_id',
  'identifier',
  'wildcard',
  'status',
  'challenges',
  'expires_at',
  'version',
] as const
const columns = columnNames.join(', ')

const byId = query<[id: string, account: string, now: number], Row>(
  `SELECT ${columns} FROM acme_authorization WHERE id = ? AND account_id = ? AND expires_at > ?`,
)
const ofOrder = query<[order: string], Row>(
  `SELECT ${columns} FROM acme_authorization WHERE order_id = ? ORDER BY id`,
)
const validFor = query<
  [account: string, identifier: string, wildcard: number, now: number],
  { readonly id: string }
>(
  `SELECT id FROM acme_authorization
     WHERE account_id = ? AND identifier = ? AND wildcard = ? AND status = 'valid' AND expires_at > ? LIMIT 1`,
)
const insert = insertInto<[string, string, string, string, number, string, string, number, number]>(
  'acme_authorization',
  columnNames,
)
const update = query<[status: string, challenges: string, id: string, version: number], unknown>(
  `UPDATE acme_authorization SET status = ?, challenges = ?, version = version + 1
     WHERE id = ? AND version = ?`,
)
const sweep = query<[now: number], unknown>('DELETE FROM acme_authorization WHERE expires_at <= ?')

/** The authorization, if it belongs to the account and has not expired. */
export async function findAuthorization(
  db: Database,
  id: string,
  accountId: string,
  now: number,
): Promise<Authorization | undefined> {
  const row = await db.get(byId, [id, accountId, now])
  return row && toAuthorization(row)
}

export async function listAuthorizations(db: Database, orderId: string): Promise<readonly Authorization[]> {
  return (await db.all(ofOrder, [orderId])).map(toAuthorization)
}

/** Has the account proved control of this identifier for an order that has not expired? */
export async function isAuthorized(
  db: Database,
  accountId: string,
  identifier: Identifier,
  wildcard: boolean,
  now: number,
): Promise<boolean> {
  return (
    (await db.get(validFor, [accountId, JSON.stringify(identifier), wildcard ? 1 : 0, now])) !== undefined
  )
}

export function insertAuthorization(part: Authorization): Change {
  return change(
    insert,
    [
      part.id,
      part.orderId,
      part.accountId,
      JSON.stringify(part.identifier),
      part.wildcard ? 1 : 0,
      part.status,
      JSON.stringify(part.challenges),
      part.expiresAt,
      part.version,
    ],
    1,
  )
}

/** Guarded by the version that was read. */
export function updateAuthorization(
  authorization: Authorization,
  to: Partial<Pick<Authorization, 'status' | 'challenges'>>,
): Change {
  const { status, challenges, id, version } = { ...authorization, ...to }
  return change(update, [status, JSON.stringify(challenges), id, version], 1)
}

/** Deletes expired authorizations. */
export function sweepAuthorizations(now: number): Change {
  return change(sweep, [now])
}

function toAuthorization(row: Row): Authorization {
  return {
    id: row.id,
    orderId: row.order_id,
    accountId: row.account_id,
    identifier: JSON.parse(row.identifier) as Identifier,
    wildcard: row.wildcard === 1,
    status: row.status as Authorization['status'],
    challenges: JSON.parse(row.challenges) as Challenge[],
    expiresAt: row.expires_at,
    version: row.version,
  }
}
