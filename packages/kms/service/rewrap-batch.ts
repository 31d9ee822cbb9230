import { type AuditEvent, createOwnEvent } from '@warder/audit'
import { createGcmBudgets, createKeyRing, type ObjectId, UnitOfWork } from '@warder/keys'
import { type Rewrapped, stageRewrap } from '@warder/kmip-server'
import type { ServiceEnvironment } from '@warder/runtime'
import { type Database, GuardFailed } from '@warder/storage'
import { configuredPolicy } from './algorithm-settings.ts'
import { getHsms } from './hsms.ts'
import type { KmsConfig } from './settings.ts'

type Environment = ServiceEnvironment<KmsConfig>

const maxKeys = 64

const made = new WeakMap<Database, ReturnType<typeof createServices>>()

function getServices(environment: Environment) {
  const known = made.get(environment.db) ?? createServices(environment)
  made.set(environment.db, known)
  return known
}

function createServices(environment: Environment) {
  const { config, db, seal, clock } = environment
  const hsms = getHsms(environment)
  const policy = configuredPolicy(config)
  const leaseMs = config.cache_lease_ms
  const keys = createKeyRing({ db, seal, clock, hsms, policy, capacity: maxKeys, leaseMs })
  return { db, seal, keys, clock, policy, budgets: createGcmBudgets(db, maxKeys) }
}

/**
 * Rewraps objects with the newest versions of their keys: in one commit for all of them, or in one commit each if one
 * was changed meanwhile. The audit records are written before the commit.
 * @returns the number of rewrapped objects; the others stay as they are
 */
export async function rewrapBatch(environment: Environment, ids: readonly ObjectId[]): Promise<number> {
  const { db, clock, log, metrics } = environment
  const services = getServices(environment)
  const now = clock.now()
  const objects = new UnitOfWork(services, now)
  const moved: { readonly id: ObjectId; readonly rewrapped: Rewrapped }[] = []
  try {
    for (const id of ids) {
      const object = await objects.read(id)
      if (object === undefined) continue
      const done = await stageRewrap({ ...services, objects, now }, object)
      if ('to' in done) moved.push({ id, rewrapped: done })
      else log.debug({ object: id, detail: done.left }, 'an object stays wrapped with an old version')
    }
    const events = moved.map(({ id, rewrapped }) => toEvent(id, rewrapped, now))
    await recordAround(environment, events, () => objects.commit(db.commit))
    if (moved.length > 0) metrics.count('objects_rewrapped_total', {}, moved.length)
    return moved.length
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
  } finally {
    objects.clear()
  }
  if (ids.length === 1) return 0
  let alone = 0
  for (const id of ids) alone += await rewrapBatch(environment, [id])
  return alone
}

function toEvent(id: string, { from, to }: Rewrapped, now: number): AuditEvent {
  return { ...createOwnEvent(now, 'crypto.objects.rewrap'), object: id, details: { from, wrapping_key: to } }
}

/** A commit that fails after all is recorded, too. */
async function recordAround(
  { audit }: Environment,
  events: readonly AuditEvent[],
  commit: () => Promise<void>,
): Promise<void> {
  if (audit.mode === 'reject') await Promise.all(events.map((event) => audit.recordDurably(event)))
  else for (const event of events) audit.record(event)
  try {
    await commit()
  } catch (error) {
    for (const event of events)
      audit.record({ ...event, outcome: 'failure', status: 500, reason: 'not_committed' })
    throw error
  }
}
