import { type Change, change, type Database, query } from '@warder/storage'
import { budgetsToLookAt, lookAtMostUsed } from './budget-look-store.ts'
import type { ManagedObject } from './managed-object.ts'
import { type ObjectRow, objectColumns, toObject } from './object-row-store.ts'
import { type RotationPlan, toleranceMs } from './rotation-plan.ts'
import type { RotationPolicy } from './rotation-policy.ts'

// `rotation_look_at` is the time at which the service checks a key again: 0 for new and changed keys (each update of a
// row writes it), NULL for never. Due keys are found by its index, independent of the number of keys.

type PlannedRow = ObjectRow & { readonly rotation_plan: string | null }

const ofOthers = query<[now: number, limit: number], PlannedRow>(
  `SELECT ${objectColumns}, rotation_plan FROM managed_object
     WHERE generation = 0 AND rotate_at IS NULL AND rotation_look_at <= ? ORDER BY rotation_look_at LIMIT ?`,
)
// Further away than any interval: a clock was ahead.
const tooLate = query<[latest: number, limit: number], PlannedRow>(
  `SELECT ${objectColumns}, rotation_plan FROM managed_object
     WHERE generation = 0 AND rotate_at IS NULL AND rotation_look_at > ? LIMIT ?`,
)
const ofScheduled = query<[now: number, limit: number], PlannedRow>(
  `SELECT ${objectColumns}, rotation_plan FROM managed_object
     WHERE rotate_at IS NOT NULL AND rotation_look_at <= ? ORDER BY rotation_look_at LIMIT ?`,
)
const one = query<[id: string], { readonly rotation_plan: string | null }>(
  'SELECT rotation_plan FROM managed_object WHERE id = ?',
)
// The version stays: nothing that is cached of the object changes.
const write = query<[look: number | null, plan: string, id: string, version: number], unknown>(
  'UPDATE managed_object SET rotation_look_at = ?, rotation_plan = ? WHERE id = ? AND version = ?',
)
const writePlan = query<[plan: string, id: string], unknown>(
  'UPDATE managed_object SET rotation_plan = ? WHERE id = ?',
)
/** A key that the service checks, with its previous plan. */
export interface LookedAt {
  readonly key: ManagedObject
  readonly plan: RotationPlan | undefined
}

/**
 * Keys that the service has to check: those with their own schedule and, if there is a policy, the others. Ordered
 * within each kind, at most `limit` of each.
 */
export async function keysToLookAt(
  db: Database,
  policy: RotationPolicy,
  now: number,
  limit: number,
): Promise<readonly LookedAt[]> {
  const { noticeMs, rules, maxInterval, minMessages } = policy
  const scheduled = noticeMs > 0 || minMessages !== undefined ? await db.all(ofScheduled, [now, limit]) : []
  const others = rules.length > 0 ? await db.all(ofOthers, [now, limit]) : []
  const latest = now + maxInterval * 1000 + toleranceMs
  const found = [...scheduled, ...others]
  const rows = found.length > 0 || rules.length === 0 ? found : await db.all(tooLate, [latest, limit])
  return rows.map((row) => ({ key: toObject(row), plan: readPlan(row.rotation_plan) }))
}

export async function findRotationPlan(db: Database, id: string): Promise<RotationPlan | undefined> {
  return readPlan((await db.get(one, [id]))?.rotation_plan ?? null)
}

function readPlan(text: string | null): RotationPlan | undefined {
  return text === null ? undefined : (JSON.parse(text) as RotationPlan)
}

/** Stores a plan and the time of the next check, unless the key was changed since it was read. */
export function planChange(key: ManagedObject, plan: RotationPlan, lookAt: number | undefined): Change {
  return change(write, [lookAt ?? null, JSON.stringify(plan), key.id, key.version])
}

/** The same for a key that changes in the same commit, or just did: the service checks it again at once. */
export function planAlone(id: string, plan: RotationPlan): Change {
  return change(writePlan, [JSON.stringify(plan), id])
}

const state = query<[], { readonly digest: string; readonly walked: string | null }>(
  `SELECT digest, walked FROM rotation_policy WHERE name = 'settings'`,
)
const adopt = query<[digest: string, walked: string | null], unknown>(
  `UPDATE rotation_policy SET digest = ?, walked = ? WHERE name = 'settings'`,
)
const pageEnd = query<[after: string, offset: number], { readonly id: string }>(
  'SELECT id FROM managed_object WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?',
)
const lookAgain = query<[after: string, last: string], unknown>(
  'UPDATE managed_object SET rotation_look_at = 0 WHERE id > ? AND id <= ?',
)
const lookAgainAfter = query<[after: string], unknown>(
  'UPDATE managed_object SET rotation_look_at = 0 WHERE id > ?',
)
const walkPage = 2000

/** Whether other settings than the last time have to reach the keys. */
async function isPolicyNew(db: Database, digest: string): Promise<boolean> {
  const known = await db.get(state, [])
  return known?.digest !== digest || known.walked !== null
}

/**
 * Makes the service check all keys again after a change of the settings: one page per commit, so that commits are
 * short; after a kill it continues with the interrupted page. Before the first settings every key awaits its first
 * check anyway.
 * @returns true: there are more pages
 */
export async function adoptPolicy(db: Database, digest: string): Promise<boolean> {
  const known = await db.get(state, [])
  if (known?.digest === digest && known.walked === null) return false
  if (known?.digest === '') {
    await db.commit([change(adopt, [digest, null], 1), lookAtMostUsed()])
    return false
  }
  const after = known?.digest === digest ? (known.walked ?? '') : ''
  const last = (await db.get(pageEnd, [after, walkPage - 1]))?.id
  await db.commit([
    change(adopt, [digest, last ?? null], 1),
    ...(known?.digest === digest ? [] : [lookAtMostUsed()]),
    last === undefined ? change(lookAgainAfter, [after]) : change(lookAgain, [after, last]),
  ])
  return last !== undefined
}

/** Whether there is anything that `keysToLookAt`, `budgetsToLookAt` or `adoptPolicy` would find. */
export async function isLookDue(db: Database, policy: RotationPolicy, now: number): Promise<boolean> {
  if (await isPolicyNew(db, policy.digest)) return true
  if ((await keysToLookAt(db, policy, now, 1)).length > 0) return true
  return (await budgetsToLookAt(db, now, 1)).length > 0
}

const dueByTime = query<[now: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object WHERE rotate_at <= ? ORDER BY rotate_at LIMIT ?`,
)
// A date further away than the interval, and the offset before the first, was set by a clock that was ahead.
const misdated = query<[now: number, latest: number, limit: number], ObjectRow>(
  `SELECT ${objectColumns} FROM managed_object
     WHERE rotate_at > ? AND rotate_at - 1000 *
       (rotate_every + CASE WHEN newest_id IS NULL THEN COALESCE(rotate_offset, 0) ELSE 0 END) > ? LIMIT ?`,
)

/** Keys whose rotation is due by their own schedule; at most `limit`. */
export async function dueRotations(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(dueByTime, [now, limit])).map(toObject)
}

/** Keys whose next rotation is further away than their interval: it was set by a node with a fast clock. */
export async function listMisdatedRotations(
  db: Database,
  now: number,
  limit: number,
): Promise<readonly ManagedObject[]> {
  return (await db.all(misdated, [now, now + toleranceMs, limit])).map(toObject)
}
