import { type Change, change, type Database, query } from '@warder/storage'
import { noSecretIdLimits, noTokenLimits, type SecretIdLimits, type TokenLimits } from './limits.ts'

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
