import { type Change, change, type Database, query } from '@warder/storage'
import { noTokenLimits, type TokenLimits } from './limits.ts'

/** Role for workloads with a service-account token of a container orchestrator. */
export interface OrchestratorRole {
  readonly name: string
  readonly realm: string
  readonly jwksUrl: string
  /** Exact names, or `*` for any. An empty list allows no account. */
  readonly names: readonly string[]
  readonly namespaces: readonly string[]
  /** Seconds; 0 = tokens do not expire. */
  readonly tokenTtl: number
  readonly expectedIssuer: string | undefined
  readonly boundAudiences: readonly string[] | undefined
  readonly policies: readonly string[]
  readonly tokenLimits: TokenLimits
  readonly version: number
}

interface RoleRow {
  readonly name: string
  readonly realm_id: string
  readonly jwks_url: string
  readonly names: string
  readonly namespaces: string
  readonly token_ttl: number
  readonly expected_issuer: string | null
  readonly bound_audiences: string | null
  readonly limits: string | null
  readonly version: number
}

const columns =
  'name, realm_id, jwks_url, names, namespaces, token_ttl, expected_issuer, bound_audiences, limits, version'
const byName = query<[name: string], RoleRow>(`SELECT ${columns} FROM orchestrator_role WHERE name = ?`)
const everyName = query<[], { readonly name: string; readonly realm_id: string }>(
  'SELECT name, realm_id FROM orchestrator_role ORDER BY name',
)
const upsert = query<
  [
    string,
    string,
    string,
    string,
    string,
    number,
    string | null,
    string | null,
    limits: string,
    realm: string,
    version: number,
  ],
  unknown
>(
  `INSERT INTO orchestrator_role (name, realm_id, jwks_url, names, namespaces, token_ttl, expected_issuer,
       bound_audiences, limits, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
     ON CONFLICT (name) DO UPDATE SET jwks_url = excluded.jwks_url, names = excluded.names,
       namespaces = excluded.namespaces, token_ttl = excluded.token_ttl,
       expected_issuer = excluded.expected_issuer, bound_audiences = excluded.bound_audiences,
       limits = excluded.limits,
       version = orchestrator_role.version + 1
     WHERE orchestrator_role.realm_id = ? AND orchestrator_role.version = ?`,
)
const touch = query<[string, number], unknown>(
  'UPDATE orchestrator_role SET version = version WHERE name = ? AND version = ?',
)
const remove = query<[string, string], unknown>(
  'DELETE FROM orchestrator_role WHERE name = ? AND realm_id = ?',
)

/** The settings of the role for its tokens. */
type Limits = Pick<OrchestratorRole, 'policies' | 'tokenLimits'>

export async function findOrchestratorRole(
  db: Database,
  name: string,
): Promise<OrchestratorRole | undefined> {
  const row = await db.get(byName, [name])
  if (row === undefined) return undefined
  const limits = JSON.parse(row.limits ?? '{}') as Partial<Limits>
  return {
    name: row.name,
    realm: row.realm_id,
    jwksUrl: row.jwks_url,
    names: JSON.parse(row.names) as string[],
    namespaces: JSON.parse(row.namespaces) as string[],
    tokenTtl: row.token_ttl,
    expectedIssuer: row.expected_issuer ?? undefined,
    boundAudiences: row.bound_audiences === null ? undefined : (JSON.parse(row.bound_audiences) as string[]),
    policies: limits.policies ?? [],
    tokenLimits: limits.tokenLimits ?? noTokenLimits,
    version: row.version,
  }
}

/** Names in order, with the realm of each. */
export async function listOrchestratorRoles(
  db: Database,
): Promise<readonly { readonly name: string; readonly realm: string }[]> {
  const rows = await db.all(everyName, [])
  return rows.map(({ name, realm_id }) => ({ name, realm: realm_id }))
}

/** Creates or updates a role: the commit fails when the role has changed since it was read as `before`. */
export function orchestratorRoleUpsert(
  role: Omit<OrchestratorRole, 'version'>,
  before: OrchestratorRole | undefined,
): readonly Change[] {
  const limits: Limits = { policies: role.policies, tokenLimits: role.tokenLimits }
  const saved = change(
    upsert,
    [
      role.name,
      role.realm,
      role.jwksUrl,
      JSON.stringify(role.names),
      JSON.stringify(role.namespaces),
      role.tokenTtl,
      role.expectedIssuer ?? null,
      role.boundAudiences === undefined ? null : JSON.stringify(role.boundAudiences),
      JSON.stringify(limits),
      role.realm,
      before?.version ?? 0,
    ],
    1,
  )
  return before === undefined ? [saved] : [orchestratorRoleUnchanged(before), saved]
}

/** A guard: the role has not changed since it was read. */
export function orchestratorRoleUnchanged(role: OrchestratorRole): Change {
  return change(touch, [role.name, role.version], 1)
}

export function orchestratorRoleRemoval(role: OrchestratorRole): Change {
  return change(remove, [role.name, role.realm])
}
