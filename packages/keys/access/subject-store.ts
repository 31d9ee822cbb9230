import { type Change, change, type Database, query } from '@warder/storage'

/** A user, whom the authentication service distinguishes by an id from other users of the same name. */
export interface SubjectRow {
  readonly subject_id: string
  /** Unix milliseconds; null = has the name still. */
  readonly ended_at: number | null
}

const one = query<[user: string, subject: string], SubjectRow>(
  'SELECT subject_id, ended_at FROM user_subject WHERE user_id = ? AND subject_id = ?',
)
const live = query<[user: string], SubjectRow>(
  'SELECT subject_id, ended_at FROM user_subject WHERE user_id = ? AND ended_at IS NULL',
)
const seen = query<[user: string, subject: string, now: number], unknown>(
  'INSERT INTO user_subject (user_id, subject_id, seen_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
)
const end = query<[user: string, subject: string, now: number, ended: number], unknown>(
  `INSERT INTO user_subject (user_id, subject_id, seen_at, ended_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (user_id, subject_id) DO UPDATE SET ended_at = excluded.ended_at`,
)

export async function findSubject(
  db: Database,
  user: string,
  subjectId: string,
): Promise<SubjectRow | undefined> {
  return db.get(one, [user, subjectId])
}

/** The users who have the name now; more than one only until the earlier ones have been ended. */
export async function liveSubjects(db: Database, user: string): Promise<readonly SubjectRow[]> {
  return await db.all(live, [user])
}

/** Whether a user who authenticated here before has the name now. */
export async function findLiveSubject(db: Database, user: string): Promise<boolean> {
  return (await liveSubjects(db, user)).length > 0
}

export function subjectSeen(user: string, subjectId: string, now: number): Change {
  return change(seen, [user, subjectId, now])
}

export function subjectEnd(user: string, subjectId: string, now: number): Change {
  return change(end, [user, subjectId, now, now])
}
