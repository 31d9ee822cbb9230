import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import type { Challenge, Identifier } from './identifiers.ts'
import type { Problem } from './problem.ts'

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

function insertAuthorization(part: Authorization): Change {
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
function sweepAuthorizations(now: number): Change {
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

type OrderStatus = 'pending' | 'ready' | 'valid' | 'invalid'

/** An order of an account. Times in Unix milliseconds. */
export interface Order {
  readonly id: string
  readonly accountId: string
  readonly status: OrderStatus
  readonly identifiers: readonly Identifier[]
  /** Requested by the client. */
  readonly notBefore: number | undefined
  readonly notAfter: number | undefined
  /** Register entry of the certificate that the new one replaces (RFC 9773 §5). */
  readonly replaces: string | undefined
  readonly certificate: string | undefined
  readonly error: Problem | undefined
  readonly createdAt: number
  /** When the order is deleted. */
  readonly expiresAt: number
  readonly version: number
}

interface OrderRow {
  readonly id: string
  readonly account_id: string
  readonly status: string
  readonly identifiers: string
  readonly not_before: number | null
  readonly not_after: number | null
  readonly replaces: string | null
  readonly certificate: string | null
  readonly error: string | null
  readonly created_at: number
  readonly expires_at: number
  readonly version: number
}

const orderColumns = [
  'id',
  'account_id',
  'status',
  'identifiers',
  'not_before',
  'not_after',
  'replaces',
  'certificate',
  'error',
  'created_at',
  'expires_at',
  'version',
] as const
const orders = orderColumns.join(', ')

const orderById = query<[id: string, account: string, now: number], OrderRow>(
  `SELECT ${orders} FROM acme_order WHERE id = ? AND account_id = ? AND expires_at > ?`,
)
const orderIdsQuery = query<[account: string, after: string, limit: number], { readonly id: string }>(
  `SELECT id FROM acme_order WHERE account_id = ? AND id > ? AND status <> 'invalid' ORDER BY id LIMIT ?`,
)
const countSince = query<[account: string, since: number], { readonly n: number }>(
  'SELECT COUNT(*) AS n FROM acme_order WHERE account_id = ? AND created_at > ?',
)
const replacing = query<[replaces: string], { readonly id: string }>(
  `SELECT id FROM acme_order WHERE replaces = ? AND status <> 'invalid' LIMIT 1`,
)
const insertOrderRow = insertInto<
  [
    string,
    string,
    string,
    string,
    number | null,
    number | null,
    string | null,
    string | null,
    string | null,
    number,
    number,
    number,
  ]
>('acme_order', orderColumns)
const updateOrderRow = query<
  [
    status: string,
    certificate: string | null,
    error: string | null,
    expires: number,
    id: string,
    version: number,
  ],
  unknown
>(
  `UPDATE acme_order SET status = ?, certificate = ?, error = ?, expires_at = ?, version = version + 1
     WHERE id = ? AND version = ?`,
)
const sweepOrders = query<[now: number], unknown>('DELETE FROM acme_order WHERE expires_at <= ?')
/** The order, if it belongs to the account and has not expired. */
export async function findOrder(
  db: Database,
  id: string,
  accountId: string,
  now: number,
): Promise<Order | undefined> {
  const row = await db.get(orderById, [id, accountId, now])
  return row && toOrder(row)
}

/** Identifiers of orders of an account, oldest first. */
export async function listOrders(
  db: Database,
  accountId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly string[]> {
  return (await db.all(orderIdsQuery, [accountId, after, limit])).map(({ id }) => id)
}

/** Counts the orders that an account created after a time. */
export async function countOrders(db: Database, accountId: string, since: number): Promise<number> {
  return Number((await db.get(countSince, [accountId, since]))?.n ?? 0)
}

/** Does another order, which has not failed, replace this certificate? */
export async function isReplaced(db: Database, registerId: string): Promise<boolean> {
  return (await db.get(replacing, [registerId])) !== undefined
}

export function insertOrder(order: Order, parts: readonly Authorization[]): Change[] {
  return [
    change(
      insertOrderRow,
      [
        order.id,
        order.accountId,
        order.status,
        JSON.stringify(order.identifiers),
        order.notBefore ?? null,
        order.notAfter ?? null,
        order.replaces ?? null,
        null,
        null,
        order.createdAt,
        order.expiresAt,
        order.version,
      ],
      1,
    ),
    ...parts.map(insertAuthorization),
  ]
}

/** Guarded by the version that was read. */
export function updateOrder(
  order: Order,
  to: Partial<Pick<Order, 'status' | 'certificate' | 'error' | 'expiresAt'>>,
): Change {
  const { status, certificate, error, expiresAt, id, version } = { ...order, ...to }
  const told = error === undefined ? null : JSON.stringify(error)
  return change(updateOrderRow, [status, certificate ?? null, told, expiresAt, id, version], 1)
}

/** Deletes expired orders and authorizations. */
export function sweepOver(now: number): Change[] {
  return [change(sweepOrders, [now]), sweepAuthorizations(now)]
}

function toOrder(row: OrderRow): Order {
  return {
    id: row.id,
    accountId: row.account_id,
    status: row.status as OrderStatus,
    identifiers: JSON.parse(row.identifiers) as Identifier[],
    notBefore: row.not_before ?? undefined,
    notAfter: row.not_after ?? undefined,
    replaces: row.replaces ?? undefined,
    certificate: row.certificate ?? undefined,
    error: row.error === null ? undefined : (JSON.parse(row.error) as Problem),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    version: row.version,
  }
}
