import { Failure } from '@warder/base'
import {
  findRotationPlan,
  type ManagedObject,
  maxInvocations,
  rotatable,
  toDay,
  UnitOfWork,
  usersSince,
} from '@warder/keys'
import { type Change, GuardFailed } from '@warder/storage'
import { getNotices } from './notices.ts'
import { getRotationServices, type RotationEnvironment } from './rotate-one.ts'

/** A notice names the users of a key in so many days before. */
const usedWithinDays = 30

/** Records that a notice was sent. @returns false: another node did, or the key changed */
export async function isWritten({ db }: RotationEnvironment, written: Change): Promise<boolean> {
  try {
    await db.commit([{ ...written, expect: 1 }])
    return true
  } catch (error) {
    if (error instanceof GuardFailed) return false
    throw error
  }
}

/**
 * Announces a rotation: in the log, as a metric and to the webhook, with the recent users of the key, and the reason
 * why the rotation would fail today, if any.
 * @param own the schedule of the key itself; undefined: the policy determines it
 */
export async function tellSoon(
  environment: RotationEnvironment,
  key: ManagedObject,
  when: object,
  now: number,
  own: number | undefined,
): Promise<void> {
  const { log, metrics } = environment
  const obstacle = await findObstacle(environment, key, now)
  const about = {
    owner: key.owner,
    ...when,
    by: own === undefined ? 'policy' : 'key',
    used_by: await listUsers(environment, key, now),
    ...(obstacle !== undefined && { will_fail: obstacle }),
  }
  metrics.count('key_rotations_total', {
    outcome: obstacle === undefined ? 'announced' : 'announced_failing',
  })
  const said =
    obstacle === undefined
      ? 'a key will be rotated soon'
      : 'a key is due for rotation soon, but cannot be rotated'
  log[obstacle === undefined ? 'info' : 'warn']({ object: key.id, ...about }, said)
  await getNotices(environment)?.tell('rotation.soon', { key: key.id, ...about })
}

const rotateIt =
  'Rotate it (warder keys rotate KEY, POST /v1/crypto/keys/{kid}/rotate), or let the service rotate it: rotate_after_messages of the key, after_messages of a rule in rotation.policy.'
const replaceIt = 'It cannot be rotated in its present state: correct that, or encrypt with another key.'

/** Says that a key stops encrypting soon, because nothing rotates it before its AES-GCM messages are used up. */
export async function tellEnding(
  environment: RotationEnvironment,
  key: ManagedObject,
  messages: number,
  now: number,
): Promise<void> {
  const { db, log, metrics } = environment
  const obstacle = await findObstacle(environment, key, now)
  const at = (await findRotationPlan(db, key.id))?.at
  const about = {
    owner: key.owner,
    messages,
    stops_at_messages: maxInvocations,
    ...(at !== undefined && { rotates_at: new Date(at).toISOString() }),
    used_by: await listUsers(environment, key, now),
    ...(obstacle !== undefined && { will_fail: obstacle }),
    what_to_do: obstacle === undefined ? rotateIt : replaceIt,
  }
  metrics.count('key_rotations_total', { outcome: 'budget_ending' })
  log.warn(
    { object: key.id, ...about },
    'a key will stop encrypting soon: its limit of AES-GCM messages is almost reached',
  )
  await getNotices(environment)?.tell('budget.ending', { key: key.id, ...about })
}

async function listUsers(
  { db }: RotationEnvironment,
  key: ManagedObject,
  now: number,
): Promise<readonly string[]> {
  return (await usersSince(db, key.id, toDay(now) - usedWithinDays)).map(({ user }) => user)
}

/** Why the key cannot be rotated now. */
async function findObstacle(
  environment: RotationEnvironment,
  key: ManagedObject,
  now: number,
): Promise<string | undefined> {
  const services = getRotationServices(environment)
  try {
    await rotatable(new UnitOfWork(services, now), services, key, now)
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}
