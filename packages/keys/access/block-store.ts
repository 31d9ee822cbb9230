import { type Change, change, type Database, query } from '@warder/storage'

/** Topic of the list of blocked users: it has one key. */
export const blockTopic = 'access_block'
export const blockKey = 'all'

export const blockVersion = query<[key: string], { readonly version: number }>(
  'SELECT version FROM access_block_head WHERE name = ?',
)
const everyName = query<[], { readonly user_id: string }>('SELECT user_id FROM access_block')
const every = query<[after: string, most: number], BlockRow>(
  'SELECT user_id, blocked_at, blocked_by, reason FROM access_block WHERE user_id > ? ORDER BY user_id LIMIT ?',
)
const one = query<[user: string], { readonly user_id: string }>(
  'SELECT user_id FROM access_block WHERE user_id = ?',
)
const count = query<[], { readonly count: number }>('SELECT COUNT(*) AS count FROM access_block')
const insert = query<[string, number, string, string], unknown>(
  `INSERT INTO access_block (user_id, blocked_at, blocked_by, reason) VALUES (?, ?, ?, ?)
     ON CONFLICT (user_id) DO UPDATE SET reason = excluded.reason`,
)
const remove = query<[user: string], unknown>('DELETE FROM access_block WHERE user_id = ?')
const advance = query<[key: string], unknown>(
  'UPDATE access_block_head SET version = version + 1 WHERE name = ?',
)

interface BlockRow {
  readonly user_id: string
  readonly blocked_at: number
  readonly blocked_by: string
  readonly reason: string
}

/** A user whose requests are refused. */
export interface Block {
  readonly user: string
  /** Unix milliseconds. */
  readonly at: number
  readonly by: string
  readonly reason: string
}

/** Part of each change of the list: caches of every node check the version. */
const versionChanges = (db: Database): readonly Change[] => [
  change(advance, [blockKey], 1),
  db.changed(blockTopic, blockKey),
]

export function blockChanges(db: Database, { user, at, by, reason }: Block): readonly Change[] {
  return [change(insert, [user, at, by, reason]), ...versionChanges(db)]
}

export function unblockChanges(db: Database, user: string): readonly Change[] {
  return [change(remove, [user]), ...versionChanges(db)]
}

/** Every name, and the version that they are of or an older one. */
export async function readBlocks(
  db: Database,
): Promise<{ readonly version: number; readonly value: ReadonlySet<string> } | undefined> {
  const head = await db.get(blockVersion, [blockKey])
  if (head === undefined) return undefined
  const rows = await db.all(everyName, [])
  return { version: head.version, value: new Set(rows.map(({ user_id }) => user_id)) }
}

export async function countBlocks(db: Database): Promise<number> {
  return (await db.get(count, []))?.count ?? 0
}

/** In the order of names. */
export async function listBlocks(db: Database, after: string, most: number): Promise<readonly Block[]> {
  return (await db.all(every, [after, most])).map((row) => ({
    user: row.user_id,
    at: row.blocked_at,
    by: row.blocked_by,
    reason: row.reason,
  }))
}

/** Whether a user is blocked now: for work on behalf of an owner without a request. */
export async function isBlocked(db: Database, user: string): Promise<boolean> {
  return (await db.get(one, [user])) !== undefined
}
