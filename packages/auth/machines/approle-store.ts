import { type Change, type Commit, change, type Database, insertInto, query, readOne } from '@warder/storage'
import { removeInBatches } from '../sweep.ts'
import { noSecretIdLimits, noTokenLimits, type SecretIdLimits, type TokenLimits } from './limits.ts'
import { secretHash } from './token-store.ts'

/** Role whose holders prove a role id and, unless `bindSecretId` is false, a secret id. TTLs in seconds. */
export interface AppRole {
  readonly name: string
  readonly roleId: string
  readonly realm: string
  /** 0 = tokens do not expire. */
  readonly tokenTtl: number
  /** 0 = secret ids do not expire. */
  readonly secretIdTtl: number
  readonly policies: readonly string[]
  readonly bindSecretId: boolean
  readonly secretIdLimits: SecretIdLimits
  readonly tokenLimits: TokenLimits
  readonly version: number
}

interface RoleRow {
  readonly name: string
  readonly role_id: string
  readonly realm_id: string
  readonly token_ttl: number
  readonly secret_id_ttl: number
  readonly token_policies: string
  readonly bind_secret_id: number
  readonly limits: string | null
  readonly version: number
}

const columns =
  'name, role_id, realm_id, token_ttl, secret_id_ttl, token_policies, bind_secret_id, limits, version'
const byName = query<[name: string], RoleRow>(`SELECT ${columns} FROM approle_role WHERE name = ?`)
const byRoleId = query<[id: string], RoleRow>(`SELECT ${columns} FROM approle_role WHERE role_id = ?`)
const everyName = query<[], { readonly name: string; readonly realm_id: string }>(
  'SELECT name, realm_id FROM approle_role ORDER BY name',
)
/** An update keeps the role id and the realm, and therefore the secret ids and tokens. */
const upsert = query<
  [string, string, string, number, number, string, number, limits: string, realm: string, version: number],
  unknown
>(
  `INSERT INTO approle_role
       (name, role_id, realm_id, token_ttl, secret_id_ttl, token_policies, bind_secret_id, limits, version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
     ON CONFLICT (name) DO UPDATE SET token_ttl = excluded.token_ttl, secret_id_ttl = excluded.secret_id_ttl,
       token_policies = excluded.token_policies, bind_secret_id = excluded.bind_secret_id,
       limits = excluded.limits,
       version = approle_role.version + 1
     WHERE approle_role.realm_id = ? AND approle_role.version = ?`,
)
const touch = query<[string, number], unknown>(
  'UPDATE approle_role SET version = version WHERE name = ? AND version = ?',
)
const remove = query<[string, string], unknown>('DELETE FROM approle_role WHERE name = ? AND realm_id = ?')

type Limits = Pick<AppRole, 'secretIdLimits' | 'tokenLimits'>

function toRole(row: RoleRow): AppRole {
  const limits = JSON.parse(row.limits ?? '{}') as Partial<Limits>
  return {
    name: row.name,
    roleId: row.role_id,
    realm: row.realm_id,
    tokenTtl: row.token_ttl,
    secretIdTtl: row.secret_id_ttl,
    policies: JSON.parse(row.token_policies) as string[],
    bindSecretId: row.bind_secret_id === 1,
    secretIdLimits: limits.secretIdLimits ?? noSecretIdLimits,
    tokenLimits: limits.tokenLimits ?? noTokenLimits,
    version: row.version,
  }
}

export async function findAppRole(db: Database, name: string): Promise<AppRole | undefined> {
  const row = await db.get(byName, [name])
  return row === undefined ? undefined : toRole(row)
}

export async function findAppRoleById(db: Database, roleId: string): Promise<AppRole | undefined> {
  const row = await db.get(byRoleId, [roleId])
  return row === undefined ? undefined : toRole(row)
}

/** Names in order, with the realm of each. */
export async function listAppRoles(
  db: Database,
): Promise<readonly { readonly name: string; readonly realm: string }[]> {
  const rows = await db.all(everyName, [])
  return rows.map(({ name, realm_id }) => ({ name, realm: realm_id }))
}

/** Creates or updates a role: the commit fails when the role has changed since it was read as `before`. */
export function appRoleUpsert(
  role: Omit<AppRole, 'version'>,
  before: AppRole | undefined,
): readonly Change[] {
  const { name, roleId, realm, tokenTtl, secretIdTtl, policies, bindSecretId } = role
  const { secretIdLimits, tokenLimits } = role
  const limits: Limits = { secretIdLimits, tokenLimits }
  const values = [name, roleId, realm, tokenTtl, secretIdTtl, JSON.stringify(policies)] as const
  const guard = [realm, before?.version ?? 0] as const
  return [
    ...(before === undefined ? [] : [appRoleUnchanged(before)]),
    change(upsert, [...values, bindSecretId ? 1 : 0, JSON.stringify(limits), ...guard], 1),
  ]
}

/** A guard: the role has not changed since it was read. */
export function appRoleUnchanged(role: AppRole): Change {
  return change(touch, [role.name, role.version], 1)
}

export function appRoleRemoval(role: AppRole): Change {
  return change(remove, [role.name, role.realm])
}

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

const secretIdColumns = 'accessor, role_name, expires_at, uses_left, bound_cidrs, token_bound_cidrs'

/**
 * Seconds for which an exhausted secret id without an expiry is kept, so that its use gets another error than a wrong
 * one.
 */
const exhaustedRemembered = 30 * 86_400

const byHash = query<[hash: Uint8Array], SecretIdRow>(
  `SELECT ${secretIdColumns} FROM secret_id WHERE secret_hash = ?`,
)
const byAccessor = query<[accessor: string], SecretIdRow>(
  `SELECT ${secretIdColumns} FROM secret_id WHERE accessor = ?`,
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

/** Deletes expired and exhausted entries. */
export function removeExpiredSecretIds(commit: Commit, now: number): Promise<number> {
  return removeInBatches(commit, (limit) => [change(removeExpired, [now, limit])])
}
