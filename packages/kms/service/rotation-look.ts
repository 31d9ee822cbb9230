import { Failure } from '@warder/foundation/errors'
import { GuardFailed } from '@warder/foundation/sql'
import {
  dayOf,
  isNoticeDue,
  keysToLookAt,
  type LookedAt,
  lookAfter,
  type ManagedObject,
  muchUsedVersions,
  objectsOf,
  planChange,
  planOf,
  type RotationPlan,
  type RotationPolicy,
  readObject,
  rotatable,
  rotationPlanOf,
  scheduleOf,
  stateAt,
  tagsOf,
  tagsOfMany,
  UnitOfWork,
  usersSince,
  waitsForRetry,
} from '../keys/index.ts'
import { configuredNotices } from './notices.ts'
import { type RotationEnvironment, rotateOne, servicesOf } from './rotate-one.ts'

const pageSize = 500
/** Most pages of one look: keys that are new, were changed or are due. */
const mostPages = 40
const minuteMs = 60_000
const dayMs = 86_400_000
/** The notice names the users of a key in so many days before. */
const usedWithinDays = 30
/** Versions that were used much and are asked whether a rule fits them. */
const mostMuchUsed = 1000

/** A key with what is to become of it. */
interface Planned {
  readonly key: ManagedObject
  readonly plan: RotationPlan
  readonly lookAt: number | undefined
}

/**
 * Looks at the keys that are new, were changed, or have a date of the policy or of a notice that has come; writes down
 * when each is looked at again, a page in one commit. What is due beyond `mostRotations` comes in the next looks.
 */
export async function lookAtKeys(
  environment: RotationEnvironment,
  policy: RotationPolicy,
  mostRotations: number,
  now: number,
): Promise<void> {
  const { db } = environment
  let due = 0
  for (let page = 0; page < mostPages; page += 1) {
    const looked = await keysToLookAt(db, policy, now, pageSize)
    const planned = await plansOf(environment, looked, policy, now)
    const rotations = planned.filter((one) => isDue(one, now))
    const others = planned.filter((one) => !isDue(one, now))
    const later = (index: number) => now + Math.ceil((due + index + 1) / mostRotations) * minuteMs
    const written = [
      ...others.map(({ key, plan, lookAt }) => planChange(key, plan, lookAt)),
      ...rotations.map(({ key, plan }, index) => planChange(key, plan, later(index))),
    ]
    if (written.length > 0) await db.commit(written)
    for (const one of others)
      if (isNoticeDue(one.plan, policy.noticeMs, now)) await announce(environment, one, policy, now)
    for (const { key, plan } of rotations.slice(0, Math.max(0, mostRotations - due)))
      await rotateOne(environment, key, plan, now)
    due += rotations.length
    if (looked.length < pageSize) return
  }
}

/** Due by the policy. What a key itself says is found by its own date. */
function isDue({ key, plan }: Planned, now: number): boolean {
  return key.rotateEvery === undefined && plan.at !== undefined && plan.at <= now && !waitsForRetry(plan, now)
}

async function plansOf(
  { db }: RotationEnvironment,
  looked: readonly LookedAt[],
  policy: RotationPolicy,
  now: number,
): Promise<readonly Planned[]> {
  const newestIds = looked.flatMap(({ key }) => (key.newestId === undefined ? [] : [key.newestId]))
  const newest = await objectsOf(db, newestIds)
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
    const plan = planOf({ key, newest: version, schedule: scheduleOf(key, byPolicy) }, before, now)
    // Its date changes the row of the version, which is not looked at.
    const lookAt = state === 'PreActive' ? now + dayMs : lookAfter(plan, key, policy.noticeMs, now)
    return { key, plan, lookAt }
  })
}

/**
 * Says once that a rotation comes: to the log, as a metric and to the webhook, with who used the key, and why the rotation
 * would fail if it were today. What was said is written first: after a kill between the two a notice is missing.
 */
async function announce(
  environment: RotationEnvironment,
  { key, plan }: Planned,
  policy: RotationPolicy,
  now: number,
): Promise<void> {
  const { db, log, metrics } = environment
  const told = { ...plan, told: plan.at }
  try {
    const written = planChange(key, told, lookAfter(told, key, policy.noticeMs, now))
    await db.commit([{ ...written, expect: 1 }])
  } catch (error) {
    if (error instanceof GuardFailed) return
    throw error
  }
  const obstacle = await obstacleOf(environment, key, now)
  const users = await usersSince(db, key.id, dayOf(now) - usedWithinDays)
  const about = {
    owner: key.owner,
    rotates_at: new Date(plan.at ?? now).toISOString(),
    by: key.rotateEvery === undefined ? 'policy' : 'key',
    used_by: users.map(({ user }) => user),
    ...(obstacle !== undefined && { will_fail: obstacle }),
  }
  metrics.count('key_rotations_total', {
    outcome: obstacle === undefined ? 'announced' : 'announced_failing',
  })
  const said = obstacle === undefined ? 'a key is rotated soon' : 'a key is to be rotated soon and cannot be'
  log[obstacle === undefined ? 'info' : 'warn']({ object: key.id, ...about }, said)
  configuredNotices(environment)?.tell('rotation.soon', { key: key.id, ...about })
}

/** Why the key cannot be rotated now. */
async function obstacleOf(
  environment: RotationEnvironment,
  key: ManagedObject,
  now: number,
): Promise<string | undefined> {
  const services = servicesOf(environment)
  try {
    await rotatable(new UnitOfWork(services, now), services, key, now)
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

/** Rotates keys whose newest version has encrypted as often as a rule says, unless they say something else themselves. */
export async function rotateMuchUsed(
  environment: RotationEnvironment,
  policy: RotationPolicy,
  mostRotations: number,
  now: number,
): Promise<void> {
  const { db } = environment
  if (policy.fewestMessages === undefined) return
  let done = 0
  for (const { id, reserved } of await muchUsedVersions(db, policy.fewestMessages, mostMuchUsed)) {
    const version = await readObject(db, id)
    const key = version?.chainId === undefined ? version : await readObject(db, version.chainId)
    if (version === undefined || key === undefined || key.rotateAfter !== undefined) continue
    if (stateAt(version, now) !== 'Active') continue
    const { every, afterMessages } = policy.of(key.algorithm, await tagsOf(db, key.id))
    if (afterMessages === undefined || reserved < afterMessages) continue
    const plan = (await rotationPlanOf(db, key.id)) ?? { generation: version.generation, every }
    if (waitsForRetry(plan, now)) continue
    if (await rotateOne(environment, key, plan, now)) done += 1
    if (done >= mostRotations) return
  }
}
