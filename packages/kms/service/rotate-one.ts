import { type AuditEvent, createOwnEvent } from '@warder/audit'
import { isRenewedWithCertificate } from '@warder/authority'
import { Failure, failure } from '@warder/base'
import {
  afterFailure,
  createKeyRing,
  findObject,
  findObjectsByIds,
  isBlocked,
  type KeyRing,
  type ManagedObject,
  nextRotation,
  planAlone,
  type RotationPlan,
  stageRotation,
  UnitOfWork,
  versionNumber,
} from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import { type Database, GuardFailed } from '@warder/storage'
import { configuredPolicy } from './algorithm-settings.ts'
import { getHsms } from './hsms.ts'
import { getNotices } from './notices.ts'
import type { KmsConfig } from './settings.ts'

export type RotationEnvironment = ServiceEnvironment<KmsConfig>

/** A key that cannot be rotated is tried again after so long, or after its interval if that is shorter. */
const retryMs = 86_400_000

/** Keys that are remembered because they cannot be rotated. */
const maxStuck = 1000

/** Failures caused by the key itself, its owner or the policy of algorithms; others pass by themselves. */
const refusals: readonly string[] = ['crypto_failure', 'unsupported_algorithm', 'forbidden']

const rings = new WeakMap<Database, KeyRing>()

/** Why a key cannot be rotated. */
interface Stuck {
  readonly why: string
  /** Unix milliseconds; reported again after it. */
  readonly until: number
  /** The version that was to be replaced. */
  readonly newestId: string | undefined
}

/** Why a key is due. */
export type RotationCause = { readonly by: 'time'; readonly plan: RotationPlan } | { readonly by: 'use' }

/** `later`: the next check may succeed, without delay. */
export type RotationOutcome = 'rotated' | 'refused' | 'later'

const stuckKeys = new WeakMap<Database, Map<string, Stuck>>()

export function getStuckKeys({ db, metrics }: RotationEnvironment): Map<string, Stuck> {
  const known = stuckKeys.get(db)
  if (known !== undefined) return known
  const stuck = new Map<string, Stuck>()
  stuckKeys.set(db, stuck)
  metrics.gauge('keys_not_rotated', 'Keys whose due rotation is refused.', () => stuck.size)
  return stuck
}

/** Removes the entries of keys that were removed or rotated since, and those whose next try is due. */
export async function forgetUnstuck(environment: RotationEnvironment, now: number): Promise<void> {
  const stuck = getStuckKeys(environment)
  if (stuck.size === 0) return
  const keys = await findObjectsByIds(environment.db, [...stuck.keys()])
  for (const [id, { until, newestId }] of stuck) {
    const key = keys.get(id)
    if (until <= now || key === undefined || key.newestId !== newestId) stuck.delete(id)
  }
}

export function getRotationServices(environment: RotationEnvironment) {
  const { config, db, seal, clock } = environment
  const policy = configuredPolicy(config)
  const leaseMs = config.cache_lease_ms
  const hsms = getHsms(environment)
  const keys = rings.get(db) ?? createKeyRing({ db, seal, clock, hsms, policy, capacity: 16, leaseMs })
  rings.set(db, keys)
  return { db, seal, keys, clock, policy }
}

/** Rotates one of the due keys. A failure is reported, recorded and tried again later, but not thrown. */
export async function rotateOne(
  environment: RotationEnvironment,
  key: ManagedObject,
  cause: RotationCause,
  now: number,
): Promise<RotationOutcome> {
  const { log, metrics } = environment
  try {
    // There is no request to refuse here: work on behalf of a blocked user ends at this check.
    if (await isBlocked(environment.db, key.owner))
      throw failure(
        'forbidden',
        'The owner of the key is blocked: rotation resumes when the owner is unblocked.',
      )
    if (await isRenewedWithCertificate(environment.db, await findNewest(environment, key))) {
      await setNextRotation(environment, key, nextRotation(key, now), now)
      return 'later'
    }
    await rotateKey(environment, key, now)
    getStuckKeys(environment).delete(key.id)
    metrics.count('key_rotations_total', { outcome: 'rotated' })
    return 'rotated'
  } catch (error) {
    if (error instanceof GuardFailed) {
      log.info({ object: key.id }, 'a key was changed when its rotation was due; the next scan decides')
      return 'later'
    }
    await recordFailure(environment, key, cause, error, now)
    return isRefusal(error) ? 'refused' : 'later'
  }
}

async function findNewest({ db }: RotationEnvironment, key: ManagedObject): Promise<ManagedObject> {
  return (key.newestId === undefined ? undefined : await findObject(db, key.newestId)) ?? key
}

async function rotateKey(
  environment: RotationEnvironment,
  { id, newestId }: ManagedObject,
  now: number,
): Promise<void> {
  const { audit, db, log } = environment
  const services = getRotationServices(environment)
  const objects = new UnitOfWork(services, now)
  try {
    const key = await objects.read(id)
    // A concurrent rotation came first: the next date counts from it.
    if (key === undefined || key.newestId !== newestId) return
    const { version } = await stageRotation(objects, services, key, now)
    const about = { version: versionNumber(version), version_kid: version.id }
    const event: AuditEvent = {
      ...createOwnEvent(now, 'crypto.keys.rotation'),
      object: id,
      ...(version.algorithm !== undefined && { algorithm: version.algorithm }),
      details: { ...about, owner: key.owner },
    }
    if (audit.mode === 'reject') await audit.recordDurably(event)
    else audit.record(event)
    try {
      await objects.commit(db.commit)
    } catch (error) {
      audit.record({ ...event, outcome: 'failure', status: 500, reason: 'not_committed' })
      throw error
    }
    log.info({ object: id, ...about }, 'a key was rotated by its schedule')
    await getNotices(environment)?.tell('rotation.done', { key: id, owner: key.owner, ...about })
  } finally {
    objects.clear()
  }
}

/** Rotation by use reports a failure once a day for each reason, independent of the number of tries. */
async function recordFailure(
  environment: RotationEnvironment,
  key: ManagedObject,
  cause: RotationCause,
  error: unknown,
  now: number,
): Promise<void> {
  const { log, metrics } = environment
  const stuck = getStuckKeys(environment)
  const before = stuck.get(key.id)
  const why = error instanceof Error ? error.message : String(error)
  const every =
    cause.by === 'time' ? (cause.plan.every ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
  const again = Math.min(now + every * 1000, now + retryMs)
  const isTold = cause.by === 'use' && before?.why === why
  const until = isTold ? before.until : again
  if (before !== undefined || stuck.size < maxStuck) stuck.set(key.id, { why, until, newestId: key.newestId })
  if (!isTold) {
    metrics.count('key_rotations_total', { outcome: 'failed' })
    log.warn(
      { object: key.id, error },
      'a key cannot be rotated by its schedule; the rotation will be repeated',
    )
    if (isRefusal(error)) await tellRefusal(environment, key, error, now)
  }
  if (cause.by === 'use' || !isRefusal(error)) return
  const ownTime = key.rotateAt !== undefined && key.rotateAt <= now
  if (ownTime) await setNextRotation(environment, key, again, now)
  const plan = afterFailure(cause.plan, ownTime ? again : undefined, now)
  await environment.db.commit([planAlone(key.id, plan)])
}

function isRefusal(error: unknown): error is Failure {
  return error instanceof Failure && refusals.includes(error.kind)
}

async function tellRefusal(
  environment: RotationEnvironment,
  key: ManagedObject,
  error: Failure,
  now: number,
): Promise<void> {
  const event: AuditEvent = {
    ...createOwnEvent(now, 'crypto.keys.rotation'),
    object: key.id,
    outcome: 'failure',
    status: error.status,
    reason: error.kind,
  }
  environment.audit.record(event)
  const about = { key: key.id, owner: key.owner, why: error.message }
  await getNotices(environment)?.tell('rotation.failed', about)
}

/** Sets the date of the next rotation, unless the key was changed meanwhile. */
export async function setNextRotation(
  environment: RotationEnvironment,
  key: ManagedObject,
  at: number | undefined,
  now: number,
): Promise<void> {
  if (key.rotateEvery === undefined) return
  const objects = new UnitOfWork(getRotationServices(environment), now)
  objects.update(key, { rotateAt: at })
  await objects.commit(environment.db.commit).catch((error: unknown) => {
    if (!(error instanceof GuardFailed)) throw error
  })
}
