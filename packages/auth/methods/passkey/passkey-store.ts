import { createHash } from 'node:crypto'
import { type Change, type Commit, change, type Database, query, readOne } from '@warder/storage'
import { removeInBatches } from '../../sweep.ts'

/** A passkey: the credential record of WebAuthn Level 3 §4. Times are Unix seconds. */
export interface Passkey {
  /** Credential ID, base64url. Unique over all realms. */
  readonly id: string
  readonly realm: string
  readonly username: string
  /** Subject id of the user who registered it; its bytes are the user handle. */
  readonly subjectId: string
  /** Chosen by the user. */
  readonly name: string
  /** COSE_Key (RFC 9052 §7). */
  readonly publicKey: Uint8Array
  /** Signature counter of the last use; 0 = the authenticator does not count. */
  readonly signCount: number
  readonly backupEligible: boolean
  readonly backedUp: boolean
  /** Model of the authenticator; proven only by an attestation. */
  readonly aaguid: string
  readonly transports: readonly string[]
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
  /** Last refused use with a counter that had gone back: a copy of the authenticator may exist. */
  readonly regressedAt: number | undefined
}

interface PasskeyRow {
  readonly credential_id: string
  readonly realm_id: string
  readonly username: string
  readonly subject_id: string
  readonly name: string
  readonly public_key: Uint8Array
  readonly sign_count: number
  readonly backup_eligible: number
  readonly backed_up: number
  readonly aaguid: string
  readonly transports: string
  readonly created_at: number
  readonly last_used_at: number
  readonly regressed_at: number
}

const columns = `credential_id, realm_id, username, subject_id, name, public_key, sign_count, backup_eligible, backed_up,
  aaguid, transports, created_at, last_used_at, regressed_at`
/** Maximum number of passkeys of a user. */
export const maxPasskeys = 20
const byId = query<[id: string], PasskeyRow>(`SELECT ${columns} FROM passkey WHERE credential_id = ?`)
const byUser = query<[realm: string, username: string], PasskeyRow>(
  `SELECT ${columns} FROM passkey WHERE realm_id = ? AND username = ? ORDER BY credential_id LIMIT ${maxPasskeys}`,
)
type NewRow = [
  ...[string, string, string, string, string, Uint8Array, number, number, number, string, string, number],
  ...[realm: string, username: string],
]
/** The statement itself counts: the guard of the user, earlier in the commit, admits one registration at a time. */
const insert = query<NewRow, unknown>(
  `INSERT INTO passkey (${columns}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0
     FROM credential c WHERE c.realm_id = ? AND c.username = ? AND
       (SELECT COUNT(*) FROM passkey p WHERE p.realm_id = c.realm_id AND p.username = c.username) < ${maxPasskeys}`,
)
const use = query<
  [count: number, backedUp: number, at: number, id: string, realm: string, username: string, before: number],
  unknown
>(
  `UPDATE passkey SET sign_count = ?, backed_up = ?, last_used_at = ?
     WHERE credential_id = ? AND realm_id = ? AND username = ? AND sign_count = ?`,
)
const regress = query<[at: number, id: string], unknown>(
  'UPDATE passkey SET regressed_at = ? WHERE credential_id = ?',
)
const rename = query<[name: string, id: string, realm: string, username: string], unknown>(
  'UPDATE passkey SET name = ? WHERE credential_id = ? AND realm_id = ? AND username = ?',
)
const removeOne = query<[id: string, realm: string, username: string], unknown>(
  'DELETE FROM passkey WHERE credential_id = ? AND realm_id = ? AND username = ?',
)
const removeAll = query<[realm: string, username: string], unknown>(
  'DELETE FROM passkey WHERE realm_id = ? AND username = ?',
)

function toPasskey(row: PasskeyRow): Passkey {
  return {
    id: row.credential_id,
    realm: row.realm_id,
    username: row.username,
    subjectId: row.subject_id,
    name: row.name,
    publicKey: row.public_key,
    signCount: row.sign_count,
    backupEligible: row.backup_eligible === 1,
    backedUp: row.backed_up === 1,
    aaguid: row.aaguid,
    transports: JSON.parse(row.transports) as string[],
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at === 0 ? undefined : row.last_used_at,
    regressedAt: row.regressed_at === 0 ? undefined : row.regressed_at,
  }
}

export async function findPasskey(db: Database, id: string): Promise<Passkey | undefined> {
  return readOne(db, byId, [id], toPasskey)
}

/** Passkeys of a user, at most `maxPasskeys`. */
export async function listPasskeys(
  db: Database,
  realm: string,
  username: string,
): Promise<readonly Passkey[]> {
  return (await db.all(byUser, [realm, username])).map(toPasskey)
}

/** Registers a passkey. GuardFailed if the user has `maxPasskeys`; UniqueViolation if the credential ID is registered. */
export function passkeyInsertion(passkey: Omit<Passkey, 'lastUsedAt' | 'regressedAt'>): Change {
  const { id, realm, username, subjectId, name, publicKey, signCount, aaguid, transports, createdAt } =
    passkey
  const [backupEligible, backedUp] = [passkey.backupEligible ? 1 : 0, passkey.backedUp ? 1 : 0]
  return change(
    insert,
    [
      ...([id, realm, username, subjectId, name, publicKey, signCount, backupEligible, backedUp] as const),
      ...([aaguid, JSON.stringify(transports), createdAt, realm, username] as const),
    ],
    1,
  )
}

/** Records a use. A guard: fails if the passkey was deleted or its counter has changed since it was read. */
export function passkeyUse(
  { id, realm, username, signCount }: Passkey,
  used: { readonly signCount: number; readonly backedUp: boolean; readonly at: number },
): Change {
  const { backedUp, at } = used
  return change(use, [used.signCount, backedUp ? 1 : 0, at, id, realm, username, signCount], 1)
}

/** Records that the counter of a passkey went back. */
export function passkeyRegression(id: string, at: number): Change {
  return change(regress, [at, id])
}

/** A guard: fails if the user has no such passkey. */
export function passkeyRenaming(id: string, realm: string, username: string, name: string): Change {
  return change(rename, [name, id, realm, username], 1)
}

export function passkeyRemoval(id: string, realm: string, username: string): Change {
  return change(removeOne, [id, realm, username])
}

export function passkeysRemoval(realm: string, username: string): Change {
  return change(removeAll, [realm, username])
}

const insertUsed = query<[hash: Uint8Array, expiresAt: number], unknown>(
  `INSERT INTO used_challenge (challenge_hash, expires_at) VALUES (?, ?)
     ON CONFLICT (challenge_hash) DO NOTHING`,
)
const removeExpired = query<[now: number, limit: number], unknown>(
  `DELETE FROM used_challenge WHERE challenge_hash IN
     (SELECT challenge_hash FROM used_challenge WHERE expires_at <= ? LIMIT ?)`,
)

/** Consumes a challenge. A guard: fails if the challenge was used before. */
export function challengeUse(challenge: string, expiresAt: number): Change {
  return change(insertUsed, [createHash('sha256').update(challenge).digest(), expiresAt], 1)
}

/** Deletes used challenges that have expired. */
export function removeExpiredChallenges(commit: Commit, now: number): Promise<number> {
  return removeInBatches(commit, (limit) => [change(removeExpired, [now, limit])])
}
