import { hash } from 'node:crypto'
import { type Change, type Commit, change, type Database, insertInto, query, readOne } from '@warder/storage'
import { superRealm } from '../realms/realm.ts'
import {
  appendToFeed,
  entryChange,
  machineRetentionSeconds,
  personRetentionSeconds,
  type RevocationReason,
} from '../revocations/feed-store.ts'
import { removeInBatches } from '../sweep.ts'

/** High-entropy secrets are stored as SHA-256: they cannot be guessed, so no slow hash is needed. */
export function secretHash(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

export type RoleKind = 'approle' | 'orchestrator'

/** A machine token as stored, without the token itself. */
export interface MachineToken {
  readonly hash: Uint8Array
  readonly entity: string
  /** Realm of the role that issued it. */
  readonly realm: string
  readonly policies: readonly string[]
  readonly renewable: boolean
  /** Seconds; 0 = it does not expire. */
  readonly leaseDuration: number
  /** Unix seconds; 0 = never. */
  readonly expiresAt: number
  readonly createdAt: number
  /** Address blocks from which it may be used; empty: every address. */
  readonly boundCidrs: readonly string[]
  /** Remaining requests; -1 = unlimited. */
  readonly usesLeft: number
  /** Unix seconds beyond which no renewal extends the token; 0 = unlimited. */
  readonly explicitEnd: number
  readonly roleKind: RoleKind
  readonly roleName: string
}

interface TokenRow {
  readonly token_hash: Uint8Array
  readonly entity: string
  readonly realm_id: string
  readonly policies: string
  readonly renewable: number
  readonly lease_duration: number
  readonly expires_at: number
  readonly created_at: number
  readonly bound_cidrs: string | null
  readonly uses_left: number
  readonly explicit_end: number
  readonly role_kind: string
  readonly role_name: string
}

const byHash = query<[hash: Uint8Array], TokenRow>(
  `SELECT token_hash, entity, realm_id, policies, renewable, lease_duration, expires_at, created_at, bound_cidrs,
       uses_left, explicit_end, role_kind, role_name
     FROM app_token WHERE token_hash = ?`,
)
const insert = insertInto<
  [
    Uint8Array,
    string,
    string,
    string,
    number,
    number,
    number,
    number,
    string | null,
    number,
    number,
    string,
    string,
  ]
>('app_token', [
  'token_hash',
  'entity',
  'realm_id',
  'policies',
  'renewable',
  'lease_duration',
  'expires_at',
  'created_at',
  'bound_cidrs',
  'uses_left',
  'explicit_end',
  'role_kind',
  'role_name',
])
const renew = query<[expires: number, hash: Uint8Array, now: number], unknown>(
  'UPDATE app_token SET expires_at = ? WHERE token_hash = ? AND (expires_at = 0 OR expires_at > ?)',
)
const takeUse = query<[hash: Uint8Array], unknown>(
  'UPDATE app_token SET uses_left = uses_left - 1 WHERE token_hash = ? AND uses_left > 0',
)
const removeIfUsedUp = query<[hash: Uint8Array], unknown>(
  'DELETE FROM app_token WHERE token_hash = ? AND uses_left = 0',
)
const revoke = query<[hash: Uint8Array], unknown>('DELETE FROM app_token WHERE token_hash = ?')
const revokeOfRole = query<[kind: string, name: string], unknown>(
  'DELETE FROM app_token WHERE role_kind = ? AND role_name = ?',
)
const removeExpired = query<[now: number, limit: number], unknown>(
  `DELETE FROM app_token WHERE token_hash IN
     (SELECT token_hash FROM app_token WHERE expires_at > 0 AND expires_at <= ? LIMIT ?)`,
)

const removeIfExpired = query<[hash: Uint8Array, now: number], unknown>(
  'DELETE FROM app_token WHERE token_hash = ? AND expires_at > 0 AND expires_at <= ?',
)

function toToken(row: TokenRow): MachineToken {
  return {
    hash: row.token_hash,
    entity: row.entity,
    realm: row.realm_id,
    policies: JSON.parse(row.policies) as string[],
    renewable: row.renewable === 1,
    leaseDuration: row.lease_duration,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    boundCidrs: JSON.parse(row.bound_cidrs ?? '[]') as string[],
    usesLeft: row.uses_left,
    explicitEnd: row.explicit_end,
    roleKind: row.role_kind as RoleKind,
    roleName: row.role_name,
  }
}

/** The token with this hash, expired or not. */
export async function findTokenByHash(
  db: Database,
  tokenHash: Uint8Array,
): Promise<MachineToken | undefined> {
  return await readOne(db, byHash, [tokenHash], toToken)
}

export function tokenInsertion(token: MachineToken): Change {
  return change(insert, [
    token.hash,
    token.entity,
    token.realm,
    JSON.stringify(token.policies),
    token.renewable ? 1 : 0,
    token.leaseDuration,
    token.expiresAt,
    token.createdAt,
    token.boundCidrs.length === 0 ? null : JSON.stringify(token.boundCidrs),
    token.usesLeft,
    token.explicitEnd,
    token.roleKind,
    token.roleName,
  ])
}

/**
 * Renews a token. A guard: a token that was revoked or has expired meanwhile stays so. @param end Unix seconds; 0 =
 * never
 */
export function tokenRenewal(token: MachineToken, end: number, now: number): Change {
  return change(renew, [end, token.hash, now], 1)
}

/**
 * Consumes one remaining use; the last use deletes the token. The commit fails when no use remains, so that concurrent requests
 * cannot exceed the limit.
 */
export function tokenUse(tokenHash: Uint8Array): readonly Change[] {
  return [change(takeUse, [tokenHash], 1), change(removeIfUsedUp, [tokenHash])]
}

export function tokenRevocation(token: MachineToken): Change {
  return change(revoke, [token.hash])
}

export function tokenRemovalIfExpired(tokenHash: Uint8Array, now: number): Change {
  return change(removeIfExpired, [tokenHash, now])
}

export function roleTokensRevocation(kind: RoleKind, name: string): Change {
  return change(revokeOfRole, [kind, name])
}

/** Deletes expired tokens. @returns how many */
export function removeExpiredTokens(commit: Commit, now: number): Promise<number> {
  return removeInBatches(commit, (limit) => [change(removeExpired, [now, limit])])
}

/**
 * Entities of machine tokens: their names for other services. A realm administrator creates roles and chooses the key
 * sets that they trust. Entities of all realms but `_` therefore start with the realm, so that they cannot equal an
 * entity of another realm.
 */
export const entityNames = {
  /** `name`, or `realm/approle:name`. The account names of orchestrators contain no colon. */
  appRole: (realm: string, name: string): string =>
    realm === superRealm ? name : `${realm}/approle:${name}`,
  /** `namespace/account`, or `realm/namespace/account`. */
  account: (realm: string, namespace: string, name: string): string =>
    realm === superRealm ? `${namespace}/${name}` : `${realm}/${namespace}/${name}`,
}

const roleOfRealm = /^([A-Za-z0-9-][A-Za-z0-9_-]{0,63}|_[A-Za-z0-9_-]{1,63})\/approle:([^/]+)$/

/** The role whose tokens have this entity; undefined for an account of an orchestrator. */
export function roleOfEntity(entity: string): { readonly realm: string; readonly name: string } | undefined {
  if (!entity.includes('/')) return { realm: superRealm, name: entity }
  const [, realm, name] = roleOfRealm.exec(entity) ?? []
  return realm === undefined || name === undefined ? undefined : { realm, name }
}

const columns = 'seq, kind, subject, realm_id, username, ended_at, until_at, reason'
type End = [at: number, until: number, reason: RevocationReason]
const feedRole = query<[...End, kind: string, name: string], unknown>(
  `INSERT INTO ended (${columns})
     SELECT h.seq + ROW_NUMBER() OVER (), 'machine', t.entity, t.realm_id, '', ?, ?, ?
       FROM ended_head h CROSS JOIN
         (SELECT DISTINCT entity, realm_id FROM app_token WHERE role_kind = ? AND role_name = ?) t WHERE h.id = 1`,
)
const feedRealmTokens = query<[...End, string, string], unknown>(
  `INSERT INTO ended (${columns})
     SELECT h.seq + ROW_NUMBER() OVER (), 'machine', t.entity, t.realm_id, '', ?, ?, ?
       FROM ended_head h CROSS JOIN (SELECT DISTINCT entity, realm_id FROM app_token
         WHERE role_kind = 'approle' AND role_name IN (SELECT name FROM approle_role WHERE realm_id = ?)
           OR role_kind = 'orchestrator' AND role_name IN (SELECT name FROM orchestrator_role WHERE realm_id = ?)) t
       WHERE h.id = 1`,
)
/** The entity of a role as `entityNames.appRole` formats it for realms other than `_`. */
const feedRealmRoles = query<[...End, realm: string], unknown>(
  `INSERT INTO ended (${columns})
     SELECT h.seq + ROW_NUMBER() OVER (), 'role', r.realm_id || '/approle:' || r.name, r.realm_id, r.role_id,
         ?, ?, ?
       FROM ended_head h CROSS JOIN approle_role r WHERE h.id = 1 AND r.realm_id = ?`,
)

const until = (at: number): number => at + machineRetentionSeconds

/** Announces one token: subscribers that cache tokens of its entity validate them again. */
export function tokenEnd(db: Database, { entity, realm }: MachineToken, at: number): readonly Change[] {
  const about = { kind: 'machine', subject: entity, realm, username: '' } as const
  return appendToFeed(db, entryChange({ ...about, endedAt: at, untilAt: until(at), reason: 'revoked' }))
}

/** Announces the tokens of a role. */
export function roleTokensEnd(db: Database, kind: RoleKind, name: string, at: number): readonly Change[] {
  return appendToFeed(db, change(feedRole, [at, until(at), 'role_deleted', kind, name]))
}

/** Announces a role with its tokens: a later role of the same name is another machine. */
export function appRoleEnd(
  db: Database,
  role: { readonly name: string; readonly realm: string; readonly roleId: string },
  at: number,
): readonly Change[] {
  const { name, realm, roleId } = role
  const about = { kind: 'role', subject: entityNames.appRole(realm, name), realm, username: roleId } as const
  const gone = entryChange({
    ...about,
    endedAt: at,
    untilAt: at + personRetentionSeconds,
    reason: 'role_deleted',
  })
  const tokens = change(feedRole, [at, until(at), 'role_deleted', 'approle', name])
  return appendToFeed(db, tokens, gone)
}

/** Announces every machine of a realm that is about to be deleted; its roles and tokens still exist. */
export function realmMachinesEnd(db: Database, realm: string, at: number): readonly Change[] {
  return appendToFeed(
    db,
    change(feedRealmTokens, [at, until(at), 'realm_deleted', realm, realm]),
    change(feedRealmRoles, [at, at + personRetentionSeconds, 'realm_deleted', realm]),
  )
}
