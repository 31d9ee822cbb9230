import { type Change, change, type Database, insertInto, query } from '@warder/storage'

/** SP 800-38D §8.3: with random 96-bit IVs one key must not encrypt more often. */
export const maxInvocations = 2 ** 32

const open = insertInto<[id: string, reserved: number]>('gcm_budget', ['object_id', 'reserved'])
// A version of a key with its own number of messages until rotation is checked at once.
const openVersion = query<[id: string, reserved: number, chain: string], unknown>(
  `INSERT INTO gcm_budget (object_id, reserved, look_from) VALUES (?, ?,
     CASE WHEN EXISTS (SELECT 1 FROM managed_object WHERE id = ? AND rotate_after IS NOT NULL) THEN 0 ELSE 1048576 END)`,
)
const ensure = query<[id: string], unknown>(
  'INSERT INTO gcm_budget (object_id, reserved) VALUES (?, 0) ON CONFLICT DO NOTHING',
)
const reserve = query<[block: number, id: string, most: number], unknown>(
  'UPDATE gcm_budget SET reserved = reserved + ? WHERE object_id = ? AND reserved <= ?',
)
const reservedBy = query<[id: string], { readonly reserved: number }>(
  'SELECT reserved FROM gcm_budget WHERE object_id = ?',
)
const remove = query<[id: string], unknown>('DELETE FROM gcm_budget WHERE object_id = ?')

/**
 * @param used invocations before the key was stored
 * @param chain the key that it is a later version of
 */
export function openBudget(id: string, used = 0, chain?: string): Change {
  return chain === undefined ? change(open, [id, used], 1) : change(openVersion, [id, used, chain], 1)
}

/** For an object that becomes an AES key; if it was one before, its earlier messages still count. */
export function ensureBudget(id: string): Change {
  return change(ensure, [id])
}

/** Takes a block of invocations for this process; the guard fails when there are not so many left. */
export function reserveBlock(id: string, block: number): Change {
  return change(reserve, [block, id, maxInvocations - block], 1)
}

/** Invocations that are taken already; undefined: there is no such budget. */
export async function findReservedInvocations(
  db: Pick<Database, 'get'>,
  id: string,
): Promise<number | undefined> {
  return (await db.get(reservedBy, [id]))?.reserved
}

export function removeBudget(id: string): Change {
  return change(remove, [id])
}
