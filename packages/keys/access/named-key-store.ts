import { type Change, change, type Database, query } from '@warder/storage'

const ownerById = query<[id: string], { readonly owner: string }>(
  'SELECT owner FROM named_key WHERE key_id = ?',
)
const remember = query<[id: string, owner: string, now: number], unknown>(
  'INSERT INTO named_key (key_id, owner, seen_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
)
const follow = query<[owner: string, id: string], unknown>('UPDATE named_key SET owner = ? WHERE key_id = ?')

/** Owner of a key that the settings name, as it was when the service first found the key. */
export async function findRememberedOwner(db: Database, id: string): Promise<string | undefined> {
  return (await db.get(ownerById, [id]))?.owner
}

export function rememberOwner(id: string, owner: string, now: number): Change {
  return change(remember, [id, owner, now])
}

/** Stores the new owner of an object that the settings name, so that they continue to use it after the transfer. */
export function followOwner(id: string, owner: string): Change {
  return change(follow, [owner, id])
}
