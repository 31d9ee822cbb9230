import { randomUUID } from 'node:crypto'
import { type Change, change, type Database, query } from '@warder/storage'
import { appendToFeed, personRetentionSeconds, type RevocationReason } from './revocations/feed-store.ts'

const byName = query<[realm: string, username: string], { readonly subject_id: string }>(
  'SELECT subject_id FROM person WHERE realm_id = ? AND username = ?',
)
const first = query<[string, string, string, number], unknown>(
  `INSERT INTO person (realm_id, username, subject_id, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (realm_id, username) DO NOTHING`,
)
const columns = 'seq, kind, subject, realm_id, username, ended_at, until_at, reason'
/** A name that is still registered remains assigned to its person. */
const unregistered = `NOT EXISTS (SELECT 1 FROM credential c WHERE c.realm_id = ? AND c.username = ?)
  AND NOT EXISTS (SELECT 1 FROM jwt_subject j WHERE j.realm_id = ? AND j.subject = ?)`
type Name = [realm: string, username: string]
const feedOne = query<
  [...Name, realm: string, username: string, at: number, until: number, reason: string, ...Name, ...Name],
  unknown
>(
  `INSERT INTO ended (${columns})
     SELECT h.seq + 1, 'person',
         COALESCE((SELECT p.subject_id FROM person p WHERE p.realm_id = ? AND p.username = ?), ''), ?, ?, ?, ?, ?
       FROM ended_head h WHERE h.id = 1 AND ${unregistered}`,
)
const removeOne = query<[...Name, ...Name, ...Name], unknown>(
  `DELETE FROM person WHERE realm_id = ? AND username = ? AND ${unregistered}`,
)
const namesOfRealm = `SELECT username FROM credential WHERE realm_id = ?
  UNION SELECT subject FROM jwt_subject WHERE realm_id = ? UNION SELECT username FROM person WHERE realm_id = ?`
const namesOfIssuer = `SELECT j.subject AS username FROM jwt_subject j WHERE j.realm_id = ? AND j.issuer = ?
  AND NOT EXISTS (SELECT 1 FROM credential c WHERE c.realm_id = j.realm_id AND c.username = j.subject)`
/** '' = the provider of the realm when providers began to be recorded. */
const namesOfProvider = `SELECT k.username FROM person k WHERE k.realm_id = ? AND k.provider IN (?, '')
  AND NOT EXISTS (SELECT 1 FROM credential c WHERE c.realm_id = k.realm_id AND c.username = k.username)
  AND NOT EXISTS (SELECT 1 FROM jwt_subject j WHERE j.realm_id = k.realm_id AND j.subject = k.username)`
const insertManyIntoFeed = (names: string) =>
  `INSERT INTO ended (${columns})
     SELECT h.seq + ROW_NUMBER() OVER (), 'person', COALESCE(p.subject_id, ''), r.id, n.username, ?,
         ?, ?
       FROM realm r CROSS JOIN ended_head h CROSS JOIN (${names}) n
         LEFT JOIN person p ON p.realm_id = r.id AND p.username = n.username
       WHERE h.id = 1 AND r.id = ?`
type Many = [at: number, until: number, reason: string]
const feedRealm = query<[...Many, string, string, string, realm: string], unknown>(
  insertManyIntoFeed(namesOfRealm),
)
const removeRealm = query<[realm: string], unknown>('DELETE FROM person WHERE realm_id = ?')
const feedIssuer = query<[...Many, string, string, realm: string], unknown>(insertManyIntoFeed(namesOfIssuer))
const removeIssuer = query<[realm: string, string, issuer: string], unknown>(
  `DELETE FROM person WHERE realm_id = ? AND username IN (${namesOfIssuer})`,
)
const feedProvider = query<[...Many, string, string, realm: string], unknown>(
  insertManyIntoFeed(namesOfProvider),
)
const removeProvider = query<[realm: string, string, provider: string], unknown>(
  `DELETE FROM person WHERE realm_id = ? AND username IN (${namesOfProvider})`,
)
const noteProvider = query<[provider: string, ...Name, id: string], unknown>(
  'UPDATE person SET provider = ? WHERE realm_id = ? AND username = ? AND subject_id = ?',
)
const renameProvider = query<[after: string, realm: string, before: string], unknown>(
  "UPDATE person SET provider = ? WHERE realm_id = ? AND provider IN (?, '')",
)

/**
 * Returns the id of the person who has this name in the realm. It is created at the first login and deleted when the
 * name is no longer registered: the next person with the name gets another id.
 */
export async function ensureSubjectId(
  db: Database,
  realm: string,
  username: string,
  now: number,
): Promise<string> {
  for (;;) {
    const found = await db.get(byName, [realm, username])
    if (found !== undefined) return found.subject_id
    await db.commit([change(first, [realm, username, randomUUID(), now])])
  }
}

/** Removes the person of a name whose last registration was removed earlier in the same commit. */
export function personEnd(
  db: Database,
  realm: string,
  username: string,
  { at, reason }: { readonly at: number; readonly reason: RevocationReason },
): readonly Change[] {
  const name: Name = [realm, username]
  const entry = change(feedOne, [...name, ...name, at, at + personRetentionSeconds, reason, ...name, ...name])
  return [...appendToFeed(db, entry), change(removeOne, [...name, ...name, ...name])]
}

/** Removes all persons of a realm that is about to be deleted; their registrations still exist. */
export function realmPersonsEnd(db: Database, realm: string, at: number): readonly Change[] {
  const until = at + personRetentionSeconds
  const entries = change(feedRealm, [at, until, 'realm_deleted', realm, realm, realm, realm])
  return [...appendToFeed(db, entries), change(removeRealm, [realm])]
}

/** Removes all persons for whom only this provider vouches; their names are deleted afterwards. */
export function issuerPersonsEnd(db: Database, realm: string, issuer: string, at: number): readonly Change[] {
  const until = at + personRetentionSeconds
  const entries = change(feedIssuer, [at, until, 'provider_removed', realm, issuer, realm])
  return [...appendToFeed(db, entries), change(removeIssuer, [realm, realm, issuer])]
}

/**
 * A guard: the person still exists. Records that this identity provider (SAML) vouches for them.
 * @param provider its entity ID
 */
export function personKnownThrough(
  person: { readonly realm: string; readonly username: string; readonly subjectId: string },
  provider: string,
): Change {
  return change(noteProvider, [provider, person.realm, person.username, person.subjectId], 1)
}

/** Removes all persons that a realm knows only through this identity provider (SAML). */
export function providerPersonsEnd(
  db: Database,
  realm: string,
  provider: string,
  at: number,
): readonly Change[] {
  const until = at + personRetentionSeconds
  const entries = change(feedProvider, [at, until, 'provider_removed', realm, provider, realm])
  return [...appendToFeed(db, entries), change(removeProvider, [realm, realm, provider])]
}

/** Assigns the persons of one identity provider to another one. */
export function providerPersonsMove(realm: string, before: string, after: string): Change {
  return change(renameProvider, [after, realm, before])
}

interface Answer {
  readonly known: number
}

const standings = query<[...Name, ...Name, ...Name], { readonly what: keyof Standing }>(
  `SELECT 'password' AS what FROM credential WHERE realm_id = ? AND username = ?
   UNION ALL SELECT 'provider' AS what FROM jwt_subject WHERE realm_id = ? AND subject = ?
   UNION ALL SELECT 'person' AS what FROM person WHERE realm_id = ? AND username = ?`,
)
const role = query<[name: string, realm: string], Answer>(
  'SELECT 1 AS known FROM approle_role WHERE name = ? AND realm_id = ?',
)

/** Use of a user name. */
interface Standing {
  /** Registered with a password. */
  readonly password: boolean
  /** An identity provider of the realm has the name. */
  readonly provider: boolean
  /** A user has logged in with it, by any scheme: users of SAML and of certificates are not registered. */
  readonly person: boolean
}

export async function readStanding(db: Database, realm: string, username: string): Promise<Standing> {
  const rows = await db.all(standings, [realm, username, realm, username, realm, username])
  const found = new Set(rows.map(({ what }) => what))
  return { password: found.has('password'), provider: found.has('provider'), person: found.has('person') }
}

/** Whether the name is registered, or a user has logged in with it. */
export async function isKnownUser(db: Database, realm: string, username: string): Promise<boolean> {
  const { password, provider, person } = await readStanding(db, realm, username)
  return password || provider || person
}

/** Whether a role of machines has this name in the realm. */
export async function isKnownRole(db: Database, realm: string, name: string): Promise<boolean> {
  return (await db.get(role, [name, realm])) !== undefined
}
