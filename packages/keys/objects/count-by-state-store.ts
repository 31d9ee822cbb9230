import { setImmediate } from 'node:timers/promises'
import { type Database, query } from '@warder/storage'
import { type State, states } from './state-machine.ts'

// Counting reads an index with one entry per object. It is read in steps, so that it does not block other queries: ten
// million objects are a thousand steps of a tenth of a millisecond. Concurrent writes may be counted or not.

const entriesOfStep = 10_000

const lastOfStep = query<[after: string, offset: number], { readonly id: string }>(
  'SELECT id FROM managed_object WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?',
)
const rest = query<[after: string], { readonly count: number }>(
  'SELECT count(*) AS count FROM managed_object WHERE id > ?',
)

// The index excludes Active objects, the most common ones; the redundant condition lets the planner use it.
const lastOfStepIn = query<[state: string, after: string, offset: number], { readonly id: string }>(
  `SELECT id FROM managed_object WHERE state = ? AND state <> 'Active' AND id > ? ORDER BY id LIMIT 1 OFFSET ?`,
)
const restIn = query<[state: string, after: string], { readonly count: number }>(
  "SELECT count(*) AS count FROM managed_object WHERE state = ? AND state <> 'Active' AND id > ?",
)

/** @returns how many objects are in each state that any is in */
export async function countByState(
  db: Database,
  step: number = entriesOfStep,
): Promise<Readonly<Partial<Record<State, number>>>> {
  const all = await countBySteps(
    step,
    async (after) => db.get(lastOfStep, [after, step - 1]),
    async (after) => db.get(rest, [after]),
  )
  const counts: Partial<Record<State, number>> = {}
  let others = 0
  for (const state of states) {
    if (state === 'Active') continue
    const count = await countBySteps(
      step,
      async (after) => db.get(lastOfStepIn, [state, after, step - 1]),
      async (after) => db.get(restIn, [state, after]),
    )
    if (count > 0) counts[state] = count
    others += count
  }
  const active = Math.max(0, all - others)
  return active === 0 ? counts : { ...counts, Active: active }
}

/**
 * @param last the entry at which the step after `after` ends; undefined = there are fewer
 * @param remaining entries after the last complete step
 */
async function countBySteps(
  step: number,
  last: (after: string) => Promise<{ readonly id: string } | undefined>,
  remaining: (after: string) => Promise<{ readonly count: number } | undefined>,
): Promise<number> {
  let count = 0
  let after = ''
  for (let end = await last(after); end !== undefined; end = await last(after)) {
    count += step
    after = end.id
    // SQLite answers without a pause.
    await setImmediate()
  }
  return count + ((await remaining(after))?.count ?? 0)
}
