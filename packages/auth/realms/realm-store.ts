import { failure } from '@warder/base'
import {
  type Change,
  type Commit,
  change,
  type Database,
  insertInto,
  query,
  readOne,
  UniqueViolation,
} from '@warder/storage'
import type { Page } from '../paging.ts'
import type { AuthParams, Realm } from './realm.ts'

interface RealmRow {
  readonly id: string
  readonly auth_params: string
  readonly session_max_age: number
  readonly session_max_stale_age: number
  readonly certificate_max_age: number
}

const columns = 'id, auth_params, session_max_age, session_max_stale_age, certificate_max_age'
const byId = query<[id: string], RealmRow>(`SELECT ${columns} FROM realm WHERE id = ?`)
const realmsAfter = query<[after: string, limit: number], RealmRow>(
  `SELECT ${columns} FROM realm WHERE id > ? ORDER BY id LIMIT ?`,
)
const insert = insertInto<[string, string, number, number, number, number]>('realm', [
  'id',
  'auth_params',
  'session_max_age',
  'session_max_stale_age',
  'certificate_max_age',
  'version',
])
const update = query<[string, number, number, number, id: string, before: string], unknown>(
  `UPDATE realm SET auth_params = ?, session_max_age = ?, session_max_stale_age = ?, certificate_max_age = ?,
     version = version + 1 WHERE id = ? AND auth_params = ?`,
)
const touch = query<[id: string], unknown>('UPDATE realm SET version = version WHERE id = ?')
const touchUnchanged = query<[id: string, authParams: string], unknown>(
  'UPDATE realm SET version = version WHERE id = ? AND auth_params = ?',
)

/**
 * Statements that delete a realm; each `?` is the realm. They first update the rows that concurrent commits lock when
 * they add something (realm, credential, role). A commit that was faster is then visible to the following statements,
 * and a slower one finds nothing to lock.
 */
const holds = [
  'UPDATE realm SET version = version WHERE id = ?',
  'UPDATE credential SET version = version WHERE realm_id = ?',
  'UPDATE approle_role SET version = version WHERE realm_id = ?',
  'UPDATE orchestrator_role SET version = version WHERE realm_id = ?',
].map((text) => query<[id: string], unknown>(text))
const removals = [
  'DELETE FROM credential WHERE realm_id = ?',
  'DELETE FROM session WHERE realm_id = ?',
  'DELETE FROM totp WHERE realm_id = ?',
  'DELETE FROM passkey WHERE realm_id = ?',
  'DELETE FROM recovery_code WHERE realm_id = ?',
  'DELETE FROM enrollment_link WHERE realm_id = ?',
  'DELETE FROM jwt_subject WHERE realm_id = ?',
  'DELETE FROM saml_request WHERE realm_id = ?',
  'DELETE FROM saml_session WHERE realm_id = ?',
  'DELETE FROM saml_handover WHERE realm_id = ?',
  'DELETE FROM admin_realm WHERE realm_id = ?',
  // By role, which is indexed: a token never outlives its role.
  `DELETE FROM app_token WHERE role_kind = 'approle'
     AND role_name IN (SELECT name FROM approle_role WHERE realm_id = ?)`,
  `DELETE FROM app_token WHERE role_kind = 'orchestrator'
     AND role_name IN (SELECT name FROM orchestrator_role WHERE realm_id = ?)`,
  'DELETE FROM secret_id WHERE role_name IN (SELECT name FROM approle_role WHERE realm_id = ?)',
  'DELETE FROM approle_role WHERE realm_id = ?',
  'DELETE FROM orchestrator_role WHERE realm_id = ?',
  'DELETE FROM realm WHERE id = ?',
].map((text) => query<[id: string], unknown>(text))

function toRealm(row: RealmRow): Realm {
  return {
    id: row.id,
    auth_params: JSON.parse(row.auth_params) as AuthParams,
    session_max_age_seconds: row.session_max_age,
    session_max_stale_age_seconds: row.session_max_stale_age,
    certificate_max_age_seconds: row.certificate_max_age,
  }
}

export async function findRealm(db: Database, id: string): Promise<Realm | undefined> {
  return readOne(db, byId, [id], toRealm)
}

/** @throws failure('not_found') */
export async function realmOrThrow(db: Database, id: string): Promise<Realm> {
  const realm = await findRealm(db, id)
  if (realm === undefined) throw failure('not_found', 'There is no such realm.')
  return realm
}

/** By id, in order. */
export async function listRealms(db: Database, page: Page): Promise<readonly Realm[]> {
  const rows = await db.all(realmsAfter, [page.after, page.limit])
  return rows.map(toRealm)
}

export function realmInsertion(realm: Realm): Change {
  return change(insert, [
    realm.id,
    JSON.stringify(realm.auth_params),
    realm.session_max_age_seconds,
    realm.session_max_stale_age_seconds,
    realm.certificate_max_age_seconds,
    1,
  ])
}

/**
 * @param feed entries for the subscribers of the revocation feed
 * @throws failure('conflict') when the id is taken
 */
export async function insertRealm(commit: Commit, realm: Realm, feed: readonly Change[]): Promise<void> {
  try {
    await commit([realmInsertion(realm), ...feed])
  } catch (error) {
    if (error instanceof UniqueViolation) {
      throw failure('conflict', 'A realm with this id exists already.', { cause: error })
    }
    throw error
  }
}

/** Sessions and logins that end when the configuration of a realm is replaced. */
export interface RealmEndings {
  /** Groups of changes; the last change of each deletes the sessions. */
  readonly sessions: readonly (readonly Change[])[]
  readonly others: readonly Change[]
}

/** Services needed to end sessions and logins. */
export interface EndingServices {
  readonly db: Database
  /** Unix seconds. */
  now(): number
}

/**
 * Replaces the configuration `before` if the guards are met, and ends the sessions and logins that depend on it.
 * @returns how many sessions ended
 * @throws GuardFailed when the realm was deleted, or its `auth_params` differ from those of `before`
 */
export async function replaceRealm(
  commit: Commit,
  before: Realm,
  after: Realm,
  guards: readonly Change[],
  endings: RealmEndings,
): Promise<number> {
  const replacement = change(
    update,
    [
      JSON.stringify(after.auth_params),
      after.session_max_age_seconds,
      after.session_max_stale_age_seconds,
      after.certificate_max_age_seconds,
      before.id,
      JSON.stringify(before.auth_params),
    ],
    1,
  )
  const results = await commit([...guards, replacement, ...endings.sessions.flat(), ...endings.others])
  let end = guards.length + 1
  let removed = 0
  for (const group of endings.sessions) {
    end += group.length
    removed += results[end - 1]?.changes ?? 0
  }
  return removed
}

/**
 * Deletes a realm and everything that belongs to it in one commit. Does nothing when the realm does not exist.
 * @param feed entries for the subscribers of the revocation feed
 * @returns how many sessions and machine tokens ended with it
 */
export async function removeRealm(
  commit: Commit,
  id: string,
  feed: readonly Change[],
): Promise<{ readonly sessions: number; readonly tokens: number }> {
  const held = holds.map((statement) => change(statement, [id]))
  const removed = removals.map((statement) => change(statement, [id]))
  const changes = [...held, ...feed, ...removed]
  const results = await commit(changes)
  const countRemovals = (table: string): number =>
    results.reduce(
      (sum, result, index) =>
        changes[index]?.query.text.startsWith(`DELETE FROM ${table} `) === true ? sum + result.changes : sum,
      0,
    )
  return { sessions: countRemovals('session'), tokens: countRemovals('app_token') }
}

/** A guard: the login methods have not changed since they were read. Locks the realm until the commit ends. */
export function realmUnchanged(realm: Realm): Change {
  return change(touchUnchanged, [realm.id, JSON.stringify(realm.auth_params)], 1)
}

/**
 * A guard for commits that add something to a realm: they fail when the realm was deleted, and lock it until they
 * end.
 */
export function realmExists(id: string): Change {
  return change(touch, [id], 1)
}
