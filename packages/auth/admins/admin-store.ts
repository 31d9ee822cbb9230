import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import type { Page } from '../paging.ts'
import { superRealm } from '../realms/realm.ts'
import type { Session } from '../sessions/session.ts'
import type { Admin } from './admin.ts'

interface AdminRow {
  readonly id: string
  readonly userpass: string | null
  readonly jwt: string | null
  readonly fido2: string | null
  readonly digital_credentials: string | null
  readonly client_certificate: string | null
  readonly saml: string | null
  readonly version: number
}
interface RealmRow {
  readonly admin_id: string
  readonly realm_id: string
}

const columns = 'id, userpass, jwt, fido2, digital_credentials, client_certificate, saml, version'
/** Reads the admin and its realms in one statement, so that both come from the same state of the database. */
const byId = query<[id: string], AdminRow & { readonly realm_id: string | null }>(
  `SELECT ${columns}, realm_id FROM admin LEFT JOIN admin_realm ON admin_id = id WHERE id = ?`,
)
const adminsAfter = query<[after: string, limit: number], AdminRow>(
  `SELECT ${columns} FROM admin WHERE id > ? ORDER BY id LIMIT ?`,
)
const realmsOfAdmins = query<[first: string, last: string], RealmRow>(
  'SELECT admin_id, realm_id FROM admin_realm WHERE admin_id >= ? AND admin_id <= ? ORDER BY admin_id, realm_id',
)
const joined = 'SELECT r.admin_id, r.realm_id FROM admin a JOIN admin_realm r ON r.admin_id = a.id'
const byUserpass = query<[subject: string], RealmRow>(`${joined} WHERE a.userpass = ?`)
const byJwt = query<[subject: string], RealmRow>(`${joined} WHERE a.jwt = ?`)
const byFido2 = query<[subject: string], RealmRow>(`${joined} WHERE a.fido2 = ?`)
const bySaml = query<[subject: string], RealmRow>(`${joined} WHERE a.saml = ?`)
const samlOfRealm = query<[realm: string], { readonly id: string }>(
  `SELECT a.id FROM admin_realm r JOIN admin a ON a.id = r.admin_id WHERE r.realm_id = ? AND a.saml IS NOT NULL
     ORDER BY r.admin_id LIMIT 5`,
)
/** A session in `_` has the powers of every Admin that names it. */
const anySaml = query<[], { readonly id: string }>(
  'SELECT id FROM admin WHERE saml IS NOT NULL ORDER BY saml LIMIT 5',
)
const byCertificate = query<[name: string, fingerprint: string], RealmRow>(
  `${joined} WHERE a.client_certificate IN (?, ?)`,
)
const selectTotp = query<[realm: string, username: string], { readonly username: string }>(
  'SELECT username FROM totp WHERE realm_id = ? AND username = ?',
)

/** Looks up by the primary key of `totp`, realm by realm, for user names and JWT subjects. */
const withTotp = query<[], { readonly id: string }>(
  ['userpass', 'jwt']
    .flatMap((name) => [
      `SELECT a.id FROM admin a JOIN totp t ON t.realm_id = '_' AND t.username = a.${name}`,
      `SELECT a.id FROM admin a JOIN admin_realm r ON r.admin_id = a.id
         JOIN totp t ON t.realm_id = r.realm_id AND t.username = a.${name}`,
    ])
    .join(' UNION '),
)
const superAdminCount = query<[], { readonly count: number }>(
  "SELECT COUNT(*) AS count FROM admin_realm WHERE realm_id = '_'",
)
const superRealmVersion = query<[], { readonly version: number }>("SELECT version FROM realm WHERE id = '_'")
const bumpSuperRealm = query<[version: number], unknown>(
  "UPDATE realm SET version = version + 1 WHERE id = '_' AND version = ?",
)

/**
 * Finds the login methods by which super admins can log in. A password counts only if its credential exists, a passkey only if the
 * user has one.
 */
const superCredentials = query<[], { readonly kind: string }>(
  [
    `SELECT 'password' AS kind FROM admin a JOIN admin_realm r ON r.admin_id = a.id AND r.realm_id = '_'
       JOIN credential c ON c.realm_id = '_' AND c.username = a.userpass`,
    `SELECT 'jwt' AS kind FROM admin a JOIN admin_realm r ON r.admin_id = a.id AND r.realm_id = '_'
       WHERE a.jwt IS NOT NULL`,
    `SELECT 'certificate' AS kind FROM admin a JOIN admin_realm r ON r.admin_id = a.id AND r.realm_id = '_'
       WHERE a.client_certificate IS NOT NULL`,
    `SELECT 'passkey' AS kind FROM admin a JOIN admin_realm r ON r.admin_id = a.id AND r.realm_id = '_'
       JOIN passkey p ON p.realm_id = '_' AND p.username = a.fido2`,
    `SELECT 'saml' AS kind FROM admin a JOIN admin_realm r ON r.admin_id = a.id AND r.realm_id = '_'
       WHERE a.saml IS NOT NULL`,
  ].join(' UNION '),
)

const insert = insertInto<
  [string, string | null, string | null, string | null, string | null, string | null, string | null, number]
>('admin', ['id', 'userpass', 'jwt', 'fido2', 'digital_credentials', 'client_certificate', 'saml', 'version'])
const update = query<
  [string | null, string | null, string | null, string | null, string | null, string | null, string, number],
  unknown
>(
  `UPDATE admin SET userpass = ?, jwt = ?, fido2 = ?, digital_credentials = ?, client_certificate = ?, saml = ?,
     version = version + 1 WHERE id = ? AND version = ?`,
)
const remove = query<[string, number], unknown>('DELETE FROM admin WHERE id = ? AND version = ?')
const insertRealm = insertInto<[string, string]>('admin_realm', ['admin_id', 'realm_id'])
const removeRealms = query<[string], unknown>('DELETE FROM admin_realm WHERE admin_id = ?')

function toAdmin(row: AdminRow, realms: readonly string[]): Admin {
  return {
    ...row,
    digital_credentials:
      row.digital_credentials === null
        ? null
        : (JSON.parse(row.digital_credentials) as Record<string, unknown>),
    realms,
  }
}

export async function findAdmin(db: Database, id: string): Promise<Admin | undefined> {
  const rows = await db.all(byId, [id])
  const [first] = rows
  if (first === undefined) return undefined
  const { realm_id: _realm, ...row } = first
  return toAdmin(row, rows.flatMap(({ realm_id }) => realm_id ?? []).sort())
}

/** By id, in order. */
export async function listAdmins(db: Database, page: Page): Promise<readonly Admin[]> {
  const rows = await db.all(adminsAfter, [page.after, page.limit])
  const range = [rows[0]?.id ?? '', rows.at(-1)?.id ?? ''] as const
  const realms = Map.groupBy(await db.all(realmsOfAdmins, [...range]), ({ admin_id }) => admin_id)
  return rows.map((row) =>
    toAdmin(
      row,
      (realms.get(row.id) ?? []).map(({ realm_id }) => realm_id),
    ),
  )
}

/**
 * Whether the password credential that the admin refers to has TOTP; it is stored in `_` or in a realm of the
 * admin.
 */
export async function hasTotp(
  db: Database,
  admin: Pick<Admin, 'userpass' | 'jwt' | 'realms'>,
): Promise<boolean> {
  for (const realm of new Set(['_', ...admin.realms])) {
    for (const name of [admin.userpass, admin.jwt]) {
      if (name !== null && (await db.get(selectTotp, [realm, name])) !== undefined) return true
    }
  }
  return false
}

/** Ids of all admins with `hasTotp`. */
export async function adminsWithTotp(db: Database): Promise<ReadonlySet<string>> {
  return new Set((await db.all(withTotp, [])).map(({ id }) => id))
}

/** The form of a fingerprint in an Admin's `client_certificate`. A value of this form never counts as a name. */
const fingerprint = /^[0-9a-f]{64}$/i

export const isFingerprint = (name: string): boolean => fingerprint.test(name)

/** Finds the admins whose credential this session began with, by id, and the realms of each. */
export async function adminsBehind(
  db: Database,
  session: Pick<Session, 'scheme' | 'username' | 'certificateSha256'>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { scheme, username, certificateSha256 } = session
  let rows: readonly RealmRow[] = []
  if (scheme === 'up') rows = await db.all(byUserpass, [username])
  else if (scheme === 'jwt') rows = await db.all(byJwt, [username])
  else if (scheme === 'f2') rows = await db.all(byFido2, [username])
  else if (scheme === 'sa') rows = await db.all(bySaml, [username])
  else if (scheme === 'cc' && certificateSha256 !== undefined) {
    const name = isFingerprint(username) ? certificateSha256 : username
    rows = await db.all(byCertificate, [name, certificateSha256])
  }
  const byAdmin = Map.groupBy(rows, ({ admin_id }) => admin_id)
  return new Map([...byAdmin].map(([id, list]) => [id, list.map(({ realm_id }) => realm_id)]))
}

/** Whether this user name in this realm is that of an administrator. */
export async function isAdminName(db: Database, realm: string, username: string): Promise<boolean> {
  for (const scheme of ['up', 'f2'] as const) {
    const admins = await adminsBehind(db, { scheme, username, certificateSha256: undefined })
    if ([...admins.values()].some((realms) => realm === superRealm || realms.includes(realm))) return true
  }
  return false
}

/** Lists the login methods that at least one super admin has a credential for. */
export async function findSuperCredentials(db: Database): Promise<ReadonlySet<string>> {
  return new Set((await db.all(superCredentials, [])).map(({ kind }) => kind))
}

/** Finds admins that name a SAML user who may log in to this realm, ordered by id; only the first few. */
export async function adminsNamingSaml(db: Database, realm: string): Promise<readonly string[]> {
  const rows = realm === superRealm ? await db.all(anySaml, []) : await db.all(samlOfRealm, [realm])
  return rows.map(({ id }) => id)
}

/** The number of super admins, and a guard: only one commit at a time can remove a super admin. */
export interface SuperAdmins {
  readonly count: number
  readonly oneFewer: Change
}

/**
 * Counts the super admins. Two concurrent commits that each remove a super admin must not rely on the same count.
 * Each one carries the guard, which increments the version of the realm `_`, so the second commit fails. The version
 * is read before the count.
 */
export async function countSuperAdmins(db: Database): Promise<SuperAdmins> {
  const version = (await db.get(superRealmVersion, []))?.version ?? 0
  const count = Number((await db.get(superAdminCount, []))?.count ?? 0)
  return { count, oneFewer: change(bumpSuperRealm, [version], 1) }
}

const toJsonColumn = (value: Admin['digital_credentials']): string | null =>
  value === null ? null : JSON.stringify(value)

export function adminInsertion(admin: Omit<Admin, 'version'>): readonly Change[] {
  const { id, userpass, jwt, fido2, digital_credentials, client_certificate, saml } = admin
  return [
    change(insert, [
      id,
      userpass,
      jwt,
      fido2,
      toJsonColumn(digital_credentials),
      client_certificate,
      saml,
      1,
    ]),
    ...admin.realms.map((realm) => change(insertRealm, [id, realm])),
  ]
}

/** @param admin `version` is the version that was read; the update fails if it has changed */
export function adminReplacement(admin: Admin): readonly Change[] {
  const { id, userpass, jwt, fido2, digital_credentials, client_certificate, saml, version } = admin
  return [
    change(
      update,
      [userpass, jwt, fido2, toJsonColumn(digital_credentials), client_certificate, saml, id, version],
      1,
    ),
    change(removeRealms, [id]),
    ...admin.realms.map((realm) => change(insertRealm, [id, realm])),
  ]
}

export function adminRemoval(admin: Admin): readonly Change[] {
  return [change(remove, [admin.id, admin.version], 1), change(removeRealms, [admin.id])]
}
