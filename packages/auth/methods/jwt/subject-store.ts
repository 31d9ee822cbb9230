import { type Change, change, type Database, query, readOne } from '@warder/storage'
import type { Page } from '../../paging.ts'

/**
 * The assignment of a user name in a realm to the only identity provider that may vouch for it. Two providers may
 * each have a user `ann`; within a realm, and for every service that relies on it, `ann` is only one of them.
 */
export interface JwtSubject {
  readonly realm: string
  /** `sub` of the provider's tokens; the username in the realm. */
  readonly subject: string
  /** `jwt_issuer_uri` of the provider. */
  readonly issuer: string
  /** Whether an administrator assigned it to the provider; else the provider used it first. */
  readonly assigned: boolean
  /** Unix seconds. */
  readonly createdAt: number
}

interface SubjectRow {
  readonly realm_id: string
  readonly subject: string
  readonly issuer: string
  readonly assigned: number
  readonly created_at: number
}

const columns = 'realm_id, subject, issuer, assigned, created_at'
const byName = query<[realm: string, subject: string], SubjectRow>(
  `SELECT ${columns} FROM jwt_subject WHERE realm_id = ? AND subject = ?`,
)
const selectByRealm = query<[realm: string, after: string, limit: number], SubjectRow>(
  `SELECT ${columns} FROM jwt_subject WHERE realm_id = ? AND subject > ? ORDER BY subject LIMIT ?`,
)
const upsert = `INSERT INTO jwt_subject (realm_id, subject, issuer, assigned, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (realm_id, subject) DO UPDATE SET`
/** Writes a row also when the provider already has the name, so that the row is locked until the commit ends. */
const claim = query<[string, string, string, number, number], unknown>(
  `${upsert} issuer = excluded.issuer WHERE jwt_subject.issuer = excluded.issuer`,
)
const assign = query<[string, string, string, number, number], unknown>(
  `${upsert} issuer = excluded.issuer, assigned = excluded.assigned, created_at = excluded.created_at`,
)
const remove = query<[realm: string, subject: string], unknown>(
  'DELETE FROM jwt_subject WHERE realm_id = ? AND subject = ?',
)

const take = query<[realm: string, subject: string, issuer: string], unknown>(
  'DELETE FROM jwt_subject WHERE realm_id = ? AND subject = ? AND issuer = ?',
)
const subjectsOfIssuer = query<[realm: string, issuer: string], unknown>(
  'DELETE FROM jwt_subject WHERE realm_id = ? AND issuer = ?',
)

function toSubject(row: SubjectRow): JwtSubject {
  return {
    realm: row.realm_id,
    subject: row.subject,
    issuer: row.issuer,
    assigned: row.assigned === 1,
    createdAt: row.created_at,
  }
}

export async function findSubject(
  db: Database,
  realm: string,
  subject: string,
): Promise<JwtSubject | undefined> {
  return readOne(db, byName, [realm, subject], toSubject)
}

/** Of a realm, by name. */
export async function listSubjects(db: Database, realm: string, page: Page): Promise<readonly JwtSubject[]> {
  return (await db.all(selectByRealm, [realm, page.after, page.limit])).map(toSubject)
}

/** A guard: the provider has the name, or gets it because it was free. Fails when another provider has it. */
export function subjectClaim(claimed: Omit<JwtSubject, 'assigned'>): Change {
  return change(claim, [claimed.realm, claimed.subject, claimed.issuer, 0, claimed.createdAt], 1)
}

/** Assigns the name to the provider, also when another one has it. */
export function subjectAssignment(given: Omit<JwtSubject, 'assigned'>): Change {
  return change(assign, [given.realm, given.subject, given.issuer, 1, given.createdAt])
}

export function subjectRemoval(realm: string, subject: string): Change {
  return change(remove, [realm, subject])
}

/** Releases a name. A guard: the name still belongs to that provider. */
export function subjectTaken({ realm, subject, issuer }: JwtSubject): Change {
  return change(take, [realm, subject, issuer], 1)
}

/** Releases all names of a provider. */
export function issuerSubjectsRemoval(realm: string, issuer: string): Change {
  return change(subjectsOfIssuer, [realm, issuer])
}
