import { type Change, change, insertInto, query } from '@warder/foundation/sql'

/** SP 800-38D §8.3: with random 96-bit IVs one key must not encrypt more often. */
export const maxInvocations = 2 ** 32

const open = insertInto<[id: string, reserved: number]>('gcm_budget', ['object_id', 'reserved'])
const ensure = query<[id: string], unknown>(
  'INSERT INTO gcm_budget (object_id, reserved) VALUES (?, 0) ON CONFLICT DO NOTHING',
)
const reserve = query<[block: number, id: string, most: number], unknown>(
  'UPDATE gcm_budget SET reserved = reserved + ? WHERE object_id = ? AND reserved <= ?',
)
const remove = query<[id: string], unknown>('DELETE FROM gcm_budget WHERE object_id = ?')

export function openBudget(id: string): Change {
  return change(open, [id, 0], 1)
}

/** For an object that becomes an AES key; if it was one before, what it used stays used. */
export function ensureBudget(id: string): Change {
  return change(ensure, [id])
}

/** Takes a block of invocations for this process; the guard fails when there are not so many left. */
export function reserveBlock(id: string, block: number): Change {
  return change(reserve, [block, id, maxInvocations - block], 1)
}

export function removeBudget(id: string): Change {
  return change(remove, [id])
}
