import { type Change, change, type Database, query } from '@warder/storage'
import {
  machineRetentionSeconds,
  personRetentionSeconds,
  type RevocationReason,
} from '../revocations/entry.ts'
import { appendToFeed, entryChange } from '../revocations/feed-store.ts'
import { entityNames } from './entity.ts'
import type { MachineToken, RoleKind } from './token-store.ts'

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
