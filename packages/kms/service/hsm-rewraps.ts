import { Failure } from '@warder/base'
import {
  beginFirstWalk,
  createKeyRing,
  findWrappingWalk,
  listIdsOfKey,
  listIdsWithMaterial,
  listMarkedForWrapping,
  type ObjectId,
  rewrapObject,
  saveWalk,
  unmarkForWrapping,
  type WrappingMark,
  type WrappingWalk,
} from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import { GuardFailed, UniqueViolation } from '@warder/storage'
import { configuredPolicy } from './algorithm-settings.ts'
import { getHsms } from './hsms.ts'
import type { KmsConfig } from './settings.ts'

type Environment = ServiceEnvironment<KmsConfig>

/** Objects between two saved positions: as many are checked twice after a crash. */
const pageSize = 100
/** Duration of one run: the next one continues. */
const maxRunMs = 20_000
const maxMarks = 100
/** Wrapping keys are few. */
const maxKeys = 64

interface Rewraps {
  rewrap(id: ObjectId): Promise<Outcome>
}

/** The rules that all objects must fit, and the interval after which all are checked again. */
interface WantedWalk {
  readonly rules: string
  readonly recheckMs: number
}

type Outcome = 'kept' | 'rewrapped' | 'failed'

const made = new WeakMap<KmsConfig, Rewraps>()

function getRewraps(environment: Environment): Rewraps {
  const known = made.get(environment.config) ?? createRewraps(environment)
  made.set(environment.config, known)
  return known
}

function createRewraps(environment: Environment): Rewraps {
  const { config, db, seal, clock, log, metrics } = environment
  const hsms = getHsms(environment)
  const policy = configuredPolicy(config)
  const leaseMs = config.cache_lease_ms
  const keys = createKeyRing({ db, seal, clock, hsms, policy, capacity: maxKeys, leaseMs })
  return {
    async rewrap(id) {
      try {
        if (!(await rewrapObject({ db, seal, keys }, id, clock.now()))) return 'kept'
        metrics.count('objects_hsm_rewrapped_total')
        return 'rewrapped'
      } catch (error) {
        if (error instanceof GuardFailed) return 'failed'
        if (!(error instanceof Failure) || error.kind === 'hsm_unavailable') throw error
        const { message: reason, detail } = error
        metrics.count('objects_hsm_rewraps_failed_total')
        log.warn(
          { object: id, reason, detail },
          'the material of an object could not be wrapped as the settings require',
        )
        return 'failed'
      }
    },
  }
}

/**
 * Checks the keys whose tags or owners changed, then all objects, if the settings changed or the last check is old. Each
 * object is one commit, and the position is stored after each page: any node continues after a crash.
 * @throws Failure 503 while the HSM is unavailable: the next run continues at the same position
 */
export async function rewrapDueMaterial(environment: Environment, wanted: WantedWalk): Promise<void> {
  const { db, clock } = environment
  const rewraps = getRewraps(environment)
  const until = clock.monotonic() + maxRunMs
  let unavailable: Failure | undefined
  for (const mark of await listMarkedForWrapping(db, maxMarks)) {
    try {
      await checkKey(environment, rewraps, mark)
    } catch (error) {
      // Other keys may be those of another HSM.
      if (!(error instanceof Failure)) throw error
      unavailable = error
    }
  }
  let walk = await resumeWalk(environment, wanted)
  while (walk !== undefined && walk.after_id !== null && clock.monotonic() < until)
    walk = await checkPage(environment, rewraps, walk)
  if (unavailable !== undefined) throw unavailable
}

/** Checks all versions of a key, and the other half of a pair. */
async function checkKey({ db }: Environment, rewraps: Rewraps, mark: WrappingMark): Promise<void> {
  for (let after = ''; ; ) {
    const ids = await listIdsOfKey(db, mark.id, after, pageSize)
    for (const id of ids) await rewraps.rewrap(id as ObjectId)
    if (ids.length < pageSize) break
    after = ids.at(-1) ?? after
  }
  await db.commit([unmarkForWrapping(mark)])
}

/** The walk of these rules; undefined: another node is faster, or nothing is due. */
async function resumeWalk(
  { db, clock, log }: Environment,
  { rules, recheckMs }: WantedWalk,
): Promise<WrappingWalk | undefined> {
  const now = clock.now()
  try {
    const walk = await findWrappingWalk(db)
    if (walk === undefined) await db.commit([beginFirstWalk(rules, now)])
    else if (walk.rules !== rules || (walk.finished_at !== null && now - walk.finished_at >= recheckMs))
      await db.commit([
        saveWalk({
          ...{ rules, after_id: '', checked: 0, rewrapped: 0, failed: 0 },
          ...{ started_at: now, finished_at: null, version: walk.version },
        }),
      ])
    else return walk
  } catch (error) {
    if (error instanceof GuardFailed || error instanceof UniqueViolation) return undefined
    throw error
  }
  log.info({}, 'the wrapping of all objects with keys in HSMs is being checked')
  return findWrappingWalk(db)
}

async function checkPage(
  { db, clock, log }: Environment,
  rewraps: Rewraps,
  walk: WrappingWalk,
): Promise<WrappingWalk | undefined> {
  const ids = await listIdsWithMaterial(db, walk.after_id ?? '', pageSize)
  const counts = { kept: 0, rewrapped: 0, failed: 0 }
  for (const id of ids) counts[await rewraps.rewrap(id as ObjectId)] += 1
  const isLast = ids.length < pageSize
  const next: WrappingWalk = {
    ...walk,
    after_id: isLast ? null : (ids.at(-1) ?? null),
    checked: walk.checked + ids.length,
    rewrapped: walk.rewrapped + counts.rewrapped,
    failed: walk.failed + counts.failed,
    finished_at: isLast ? clock.now() : null,
  }
  await db.commit([saveWalk(next)])
  const { checked, rewrapped, failed } = next
  if (isLast)
    log.info({ checked, rewrapped, failed }, 'the wrapping of all objects with keys in HSMs was checked')
  return { ...next, version: walk.version + 1 }
}
