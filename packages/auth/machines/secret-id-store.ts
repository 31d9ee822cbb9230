import { type Change, type Commit, change, type Database, insertInto, query, readOne } from '@warder/storage'
import { secretHash } from './secret-hash.ts'

export interface SecretId {
  readonly accessor: string
  readonly roleName: string
  /** Unix seconds; 0 = never. */
  readonly expiresAt: number
  /** -1 = without limit, 0 = exhausted. */
  readonly usesLeft: number
  /** Address blocks from which it may be used; empty: those of its role. */
  readonly boundCidrs: readonly string[]
  /** Address blocks of the tokens that it is exchanged for; empty: those of its role. */
  readonly tokenBoundCidrs: readonly string[]
}

interface SecretIdRow {
  readonly accessor: string
  readonly role_name: string
  readonly expires_at: number
  readonly uses_left: number
  readonly bound_cidrs: string | null
  readonly token_bound_cidrs: string | null
}

const columns = 'accessor, role_name, expires_at, uses_left, bound_cidrs, token_bound_cidrs'

/**
 * Seconds for which an exhausted secret id without an expiry is kept, so that its use gets another error than a wrong
 * one.
 */
const exhaustedRemembered = 30 * 86_400

const byHash = query<[hash: Uint8Array], SecretIdRow>(
  `SELECT ${columns} FROM secret_id WHERE secret_hash = ?`,
)
const byAccessor = query<[accessor: string], SecretIdRow>(
  `SELECT ${columns} FROM secret_id WHERE accessor = ?`,
)
const accessorsOfRole = query<[role: string, now: number, limit: number], { readonly accessor: string }>(
  `SELECT accessor FROM secret_id WHERE role_name = ? AND uses_left <> 0 AND (expires_at = 0 OR expires_at > ?)
     ORDER BY accessor LIMIT ?`,
)
/** Maximum number of accessors in a list. */
const maxListLength = 1000
const insert = insertInto<[string, Uint8Array, string, number, number, number, string | null, string | null]>(
  'secret_id',
  [
    'accessor',
    'secret_hash',
    'role_name',
    'expires_at',
    'uses_left',
    'created_at',
    'bound_cidrs',
    'token_bound_cidrs',
  ],
)
/**
 * One statement checks and consumes a use: of any number of parallel uses, exactly as many succeed as there are uses
 * left. The last one sets an expiry, so that the row is swept later.
 */
const takeUse = query<[forgetAt: number, accessor: string], unknown>(
  `UPDATE secret_id SET
     expires_at = CASE WHEN uses_left = 1 AND expires_at = 0 THEN ? ELSE expires_at END,
     uses_left = CASE WHEN uses_left > 0 THEN uses_left - 1 ELSE uses_left END
     WHERE accessor = ? AND uses_left <> 0`,
)
const destroy = query<[accessor: string, role: string], unknown>(
  'DELETE FROM secret_id WHERE accessor = ? AND role_name = ?',
)
const destroyOfRole = query<[role: string], unknown>('DELETE FROM secret_id WHERE role_name = ?')
const removeExpired = query<[now: number, limit: number], unknown>(
  `DELETE FROM secret_id WHERE accessor IN
     (SELECT accessor FROM secret_id WHERE expires_at > 0 AND expires_at <= ? LIMIT ?)`,
)

/** The secret id with this value, whatever its state. */
export async function findSecretId(db: Database, value: string): Promise<SecretId | undefined> {
  return readOne(db, byHash, [secretHash(value)], toSecretId)
}

/** The secret id with this accessor, whatever its state. */
export async function findSecretIdByAccessor(db: Database, accessor: string): Promise<SecretId | undefined> {
  return readOne(db, byAccessor, [accessor], toSecretId)
}

/** Accessors of usable secret ids, in their order. */
export async function secretIdAccessors(db: Database, role: string, now: number): Promise<readonly string[]> {
  return (await db.all(accessorsOfRole, [role, now, maxListLength])).map(({ accessor }) => accessor)
}

function toSecretId(row: SecretIdRow): SecretId {
  return {
    accessor: row.accessor,
    roleName: row.role_name,
    expiresAt: row.expires_at,
    usesLeft: row.uses_left,
    boundCidrs: JSON.parse(row.bound_cidrs ?? '[]') as string[],
    tokenBoundCidrs: JSON.parse(row.token_bound_cidrs ?? '[]') as string[],
  }
}

const listOrNull = (blocks: readonly string[]): string | null =>
  blocks.length === 0 ? null : JSON.stringify(blocks)

export function secretIdInsertion(secret: SecretId, value: string, now: number): Change {
  const { accessor, roleName, expiresAt, usesLeft } = secret
  const blocks = [listOrNull(secret.boundCidrs), listOrNull(secret.tokenBoundCidrs)] as const
  return change(insert, [accessor, secretHash(value), roleName, expiresAt, usesLeft, now, ...blocks])
}

/** The commit fails when the secret id is exhausted or destroyed. */
export function secretIdUse(secret: SecretId, now: number): Change {
  return change(takeUse, [now + exhaustedRemembered, secret.accessor], 1)
}

/** Does nothing when the accessor belongs to another role. */
export function secretIdDestruction(accessor: string, role: string): Change {
  return change(destroy, [accessor, role])
}

export function roleSecretIdsDestruction(role: string): Change {
  return change(destroyOfRole, [role])
}

const batch = 1000
const maxBatches = 10_000

/** Deletes what has expired, exhausted ones included. */
export async function removeExpiredSecretIds(commit: Commit, now: number): Promise<void> {
  for (let round = 0; round < maxBatches; round++) {
    const [result] = await commit([change(removeExpired, [now, batch])])
    if ((result?.changes ?? 0) < batch) return
  }
}
