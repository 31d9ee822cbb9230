import { type Change, change, type Database, query } from '@warder/storage'

const end = query<[id: string, until: number], unknown>(
  'INSERT INTO ended_session (id, until_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
)
const byId = query<[id: string], { readonly id: string }>('SELECT id FROM ended_session WHERE id = ?')
const sweep = query<[now: number], unknown>('DELETE FROM ended_session WHERE until_ms <= ?')

/** A session of the web page is over before its time, on every node. */
export function endSession(id: string, until: number): Change {
  return change(end, [id, until])
}

export async function findEndedSession(db: Database, id: string): Promise<object | undefined> {
  return db.get(byId, [id])
}

/** Forgets those that have come to their end by themselves. */
export function sweepEndedSessions(now: number): Change {
  return change(sweep, [now])
}
