import { adoptPolicy, dueRotations, misdatedRotations, nextRotation, rotationPlanOf } from '../keys/index.ts'
import { type RotationEnvironment, redated, rotateOne, stuckOf } from './rotate-one.ts'
import { lookAtKeys, rotateMuchUsed } from './rotation-look.ts'
import { rotationPolicy } from './rotation-settings.ts'

/** Rotations of one look: a clock that jumps makes many keys due at once. */
const mostAtOnce = 100
/** Pages of keys that one look sets anew after a change of the settings. */
const mostPages = 20

/**
 * Rotates the keys that are due, in the name of the service, one commit for each: after a kill the next look goes on with
 * the others. The next date is counted from this rotation, so that a clock that jumps rotates each key once at most.
 * First those that say themselves how they are rotated, then those of the policy; notices come with its look.
 */
export async function rotateWhatIsDue(environment: RotationEnvironment): Promise<void> {
  const { config, db, clock } = environment
  const now = clock.now()
  const stuck = stuckOf(environment)
  // Those that stay due must not keep others from their turn.
  const due = await dueRotations(db, now, mostAtOnce + stuck.size)
  const ids = new Set<string>(due.map(({ id }) => id))
  for (const [id, { until }] of stuck) if (!ids.has(id) && until <= now) stuck.delete(id)
  for (const key of due) {
    const before = await rotationPlanOf(db, key.id)
    await rotateOne(environment, key, { generation: 0, ...before, every: key.rotateEvery }, now)
  }
  for (const key of await misdatedRotations(db, now, mostAtOnce))
    await redated(environment, key, nextRotation(key, now), now)
  const policy = rotationPolicy(config)
  for (let page = 0; page < mostPages && (await adoptPolicy(db, policy.digest)); ) page += 1
  await lookAtKeys(environment, policy, mostAtOnce, now)
  await rotateMuchUsed(environment, policy, mostAtOnce, now)
}
