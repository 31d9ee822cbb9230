import {
  adoptPolicy,
  computeRotationPlan,
  dueRotations,
  findObjectsByIds,
  findRotationPlan,
  isNoticeDue,
  keysToLookAt,
  type LookedAt,
  listMisdatedRotations,
  lookAfter,
  lookNoLaterThan,
  type ManagedObject,
  nextRotation,
  noticeFrom,
  planChange,
  type RotationPlan,
  type RotationPolicy,
  resolveSchedule,
  stateAt,
  tagsOfMany,
  waitsForRetry,
} from '@warder/keys'
import type { Change } from '@warder/storage'
import { lookAtBudgets } from './budget-look.ts'
import { rotationPolicy } from './key-life-settings.ts'
import {
  forgetUnstuck,
  getStuckKeys,
  type RotationEnvironment,
  rotateOne,
  setNextRotation,
} from './rotate-one.ts'
import { isWritten, tellSoon } from './rotation-notices.ts'

/** Maximum rotations per scan: a clock that jumps makes many keys due at once. */
const maxAtOnce = 100
/** Max pages of keys that one run resets after a change of the settings. */
const maxResetPages = 20

/**
 * Rotates the due keys on behalf of the service, one commit for each: after a kill the next run continues with the
 * others. The next date is counted from this rotation, so a clock jump rotates each key at most once. Keys with their
 * own schedule come first, then those of the policy, then those due by use; notices are sent by the checks.
 */
export async function rotateWhatIsDue(environment: RotationEnvironment): Promise<void> {
  const { config, db, clock } = environment
  const now = clock.now()
  await forgetUnstuck(environment, now)
  // Keys that remain due must not block others.
  const due = await dueRotations(db, now, maxAtOnce + getStuckKeys(environment).size)
  for (const key of due) {
    const before = await findRotationPlan(db, key.id)
    const plan = { generation: 0, ...before, every: key.rotateEvery }
    await rotateOne(environment, key, { by: 'time', plan }, now)
  }
  for (const key of await listMisdatedRotations(db, now, maxAtOnce))
    await setNextRotation(environment, key, nextRotation(key, now), now)
  const policy = rotationPolicy(config)
  for (let page = 0; page < maxResetPages && (await adoptPolicy(db, policy.digest)); ) page += 1
  await lookAtKeys(environment, policy, maxAtOnce, now)
  await lookAtBudgets(environment, policy, maxAtOnce, now)
}

const pageSize = 500
/** Max pages of one run: keys that are new, were changed or are due. */
const maxPages = 40
const minuteMs = 60_000
const dayMs = 86_400_000

/** A key with the planned action. */
interface Planned {
  readonly key: ManagedObject
  readonly plan: RotationPlan
  readonly lookAt: number | undefined
  /** AES-GCM messages of the newest version after which it is rotated. */
  readonly afterMessages: number | undefined
}

/**
 * Checks the keys that are new, were changed, or have reached a date of the policy or of a notice; stores when each is
 * checked again, with one commit per page. Keys that are due beyond `maxRotations` follow in the next runs.
 */
async function lookAtKeys(
  environment: RotationEnvironment,
  policy: RotationPolicy,
  maxRotations: number,
  now: number,
): Promise<void> {
  const { db } = environment
  let due = 0
  for (let page = 0; page < maxPages; page += 1) {
    const looked = await keysToLookAt(db, policy, now, pageSize)
    const planned = await planRotations(environment, looked, policy, now)
    const rotations = planned.filter((one) => isDue(one, now))
    const others = planned.filter((one) => !isDue(one, now))
    const later = (index: number) => now + Math.ceil((due + index + 1) / maxRotations) * minuteMs
    const written = [
      ...others.map(({ key, plan, lookAt }) => planChange(key, plan, lookAt)),
      ...rotations.map(({ key, plan }, index) => planChange(key, plan, later(index))),
      ...planned.flatMap(looksByUse),
    ]
    if (written.length > 0) await db.commit(written)
    for (const one of others)
      if (isNoticeDue(one.plan, policy.noticeMs, now)) await announce(environment, one, policy, now)
    for (const { key, plan } of rotations.slice(0, Math.max(0, maxRotations - due)))
      await rotateOne(environment, key, { by: 'time', plan }, now)
    due += rotations.length
    if (looked.length < pageSize) return
  }
}

/** Whether a key is due by the policy. A key with its own schedule is found by its own date. */
function isDue({ key, plan }: Planned, now: number): boolean {
  return key.rotateEvery === undefined && plan.at !== undefined && plan.at <= now && !waitsForRetry(plan, now)
}

/** Tags and settings may now permit fewer messages than at the last check of the version's use. */
function looksByUse({ key, afterMessages }: Planned): readonly Change[] {
  const looks = afterMessages !== undefined && key.algorithm === 'AES'
  return looks ? [lookNoLaterThan(key.newestId ?? key.id, noticeFrom(afterMessages))] : []
}

async function planRotations(
  { db }: RotationEnvironment,
  looked: readonly LookedAt[],
  policy: RotationPolicy,
  now: number,
): Promise<readonly Planned[]> {
  const newestIds = looked.flatMap(({ key }) => (key.newestId === undefined ? [] : [key.newestId]))
  const newest = await findObjectsByIds(db, newestIds)
  const tags = policy.rules.some(({ tag }) => tag !== undefined)
    ? await tagsOfMany(
        db,
        looked.map(({ key }) => key.id),
      )
    : new Map<string, readonly string[]>()
  return looked.map(({ key, plan: before }) => {
    const version = newest.get(key.newestId ?? '') ?? key
    const state = stateAt(version, now)
    const rotates = (key.type === 'SymmetricKey' || key.type === 'PrivateKey') && state === 'Active'
    const byPolicy = rotates
      ? policy.of(key.algorithm, tags.get(key.id) ?? [])
      : { every: undefined, afterMessages: undefined }
    const schedule = resolveSchedule(key, byPolicy)
    const plan = computeRotationPlan({ key, newest: version, schedule }, before, now)
    // At its activation date only the row of the version changes, which is not scanned.
    const lookAt = state === 'PreActive' ? now + dayMs : lookAfter(plan, key, policy.noticeMs, now)
    return { key, plan, lookAt, afterMessages: schedule.afterMessages }
  })
}

/**
 * Announces a rotation by time once. It is marked as sent first: a kill between the two loses the notice.
 */
async function announce(
  environment: RotationEnvironment,
  { key, plan }: Planned,
  policy: RotationPolicy,
  now: number,
): Promise<void> {
  const told = { ...plan, told: plan.at }
  const written = planChange(key, told, lookAfter(told, key, policy.noticeMs, now))
  if (!(await isWritten(environment, written))) return
  await tellSoon(
    environment,
    key,
    { rotates_at: new Date(plan.at ?? now).toISOString() },
    now,
    key.rotateEvery,
  )
}
