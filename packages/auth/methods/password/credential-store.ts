import { type Change, change, type Database, insertInto, query, readOne } from '@warder/storage'
import type { Page } from '../../paging.ts'
import type { Credential } from './credential.ts'

interface CredentialRow {
  readonly realm_id: string
  readonly username: string
  readonly password_hash: string
  readonly change_password: number
  readonly roles: string
  readonly extra_claims: string | null
  readonly version: number
}

const columns = 'realm_id, username, password_hash, change_password, roles, extra_claims, version'
const byName = query<[realm: string, username: string], CredentialRow>(
  `SELECT ${columns} FROM credential WHERE realm_id = ? AND username = ?`,
)
const selectByRealm = query<[realm: string, after: string, limit: number], CredentialRow>(
  `SELECT ${columns} FROM credential WHERE realm_id = ? AND username > ? ORDER BY username LIMIT ?`,
)
const selectInAllRealms = query<[realm: string, username: string, limit: number], CredentialRow>(
  `SELECT ${columns} FROM credential WHERE (realm_id, username) > (?, ?) ORDER BY realm_id, username LIMIT ?`,
)
const insert = insertInto<[string, string, string, number, string, string | null, number]>('credential', [
  'realm_id',
  'username',
  'password_hash',
  'change_password',
  'roles',
  'extra_claims',
  'version',
])
const update = query<[string, number, string, string | null, string, string, number], unknown>(
  `UPDATE credential SET password_hash = ?, change_password = ?, roles = ?, extra_claims = ?, version = version + 1
     WHERE realm_id = ? AND username = ? AND version = ?`,
)
const remove = query<[string, string], unknown>('DELETE FROM credential WHERE realm_id = ? AND username = ?')
const touch = query<[string, string, number], unknown>(
  'UPDATE credential SET version = version WHERE realm_id = ? AND username = ? AND version = ?',
)

function toCredential(row: CredentialRow): Credential {
  return {
    realm: row.realm_id,
    username: row.username,
    passwordHash: row.password_hash,
    changePassword: row.change_password === 1,
    roles: JSON.parse(row.roles) as string[],
    extraClaims:
      row.extra_claims === null ? undefined : (JSON.parse(row.extra_claims) as Record<string, unknown>),
    version: row.version,
  }
}

export async function findCredential(
  db: Database,
  realm: string,
  username: string,
): Promise<Credential | undefined> {
  return readOne(db, byName, [realm, username], toCredential)
}

/** Of a realm, by username. */
export async function listCredentials(
  db: Database,
  realm: string,
  page: Page,
): Promise<readonly Credential[]> {
  return (await db.all(selectByRealm, [realm, page.after, page.limit])).map(toCredential)
}

/** Credentials of every realm, by realm and username; the cursor of a credential is `realm/username`. */
export async function listEveryCredential(db: Database, page: Page): Promise<readonly Credential[]> {
  const [realm = '', ...username] = page.after.split('/')
  return (await db.all(selectInAllRealms, [realm, username.join('/'), page.limit])).map(toCredential)
}

export function credentialInsertion(credential: Omit<Credential, 'version'>): Change {
  return change(insert, [
    credential.realm,
    credential.username,
    credential.passwordHash,
    credential.changePassword ? 1 : 0,
    JSON.stringify(credential.roles),
    credential.extraClaims === undefined ? null : JSON.stringify(credential.extraClaims),
    1,
  ])
}

/** `credential.version` is the version that was read; the update fails if it has changed. */
export function credentialUpdate(credential: Credential): Change {
  return change(
    update,
    [
      credential.passwordHash,
      credential.changePassword ? 1 : 0,
      JSON.stringify(credential.roles),
      credential.extraClaims === undefined ? null : JSON.stringify(credential.extraClaims),
      credential.realm,
      credential.username,
      credential.version,
    ],
    1,
  )
}

export function credentialRemoval(realm: string, username: string): Change {
  return change(remove, [realm, username])
}

/** A guard: the credential has not changed since it was read. Locks it until the commit ends. */
export function credentialUnchanged(credential: Credential): Change {
  return change(touch, [credential.realm, credential.username, credential.version], 1)
}
