import {
  adoptPolicy,
  dueRotations,
  findRotationPlan,
  listMisdatedRotations,
  nextRotation,
} from '@warder/keys'
import { lookAtBudgets } from './budget-look.ts'
import {
  forgetUnstuck,
  getStuckKeys,
  type RotationEnvironment,
  rotateOne,
  setNextRotation,
} from './rotate-one.ts'
import { lookAtKeys } from './rotation-look.ts'
import { rotationPolicy } from './rotation-settings.ts'

/** Rotations of one look: a clock that jumps makes many keys due at once. */
const maxAtOnce = 100
/** Max pages of keys that one run resets after a change of the settings. */
const maxPages = 20

/**
 * Rotates the due keys on behalf of the service, one commit for each: after a kill the next run continues with the
 * others. The next date is counted from this rotation, so a clock jump rotates each key at most once. Keys with their
 * own schedule come first, then those of the policy, then those due by use; notices are sent by the checks.
 */
export async function rotateWhatIsDue(environment: RotationEnvironment): Promise<void> {
  const { config, db, clock } = environment
  const now = clock.now()
  await forgetUnstuck(environment, now)
  // Those that stay due must not keep others from their turn.
  const due = await dueRotations(db, now, maxAtOnce + getStuckKeys(environment).size)
  for (const key of due) {
    const before = await findRotationPlan(db, key.id)
    const plan = { generation: 0, ...before, every: key.rotateEvery }
    await rotateOne(environment, key, { by: 'time', plan }, now)
  }
  for (const key of await listMisdatedRotations(db, now, maxAtOnce))
    await setNextRotation(environment, key, nextRotation(key, now), now)
  const policy = rotationPolicy(config)
  for (let page = 0; page < maxPages && (await adoptPolicy(db, policy.digest)); ) page += 1
  await lookAtKeys(environment, policy, maxAtOnce, now)
  await lookAtBudgets(environment, policy, maxAtOnce, now)
}
