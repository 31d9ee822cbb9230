import { type AuditEvent, type AuditTrail, createOwnEvent } from '@warder/audit'
import {
  destroyAfterWait,
  findObject,
  getChainId,
  isDestructionDue,
  isLaterVersion,
  keyRemovalChanges,
  look,
  type ManagedObject,
  objectsAwaitingDestruction,
  otherHalf,
  requireNotWrapping,
  toDay,
  updateChanges,
  usersSince,
  withholdingChanges,
  withVersions,
} from '@warder/keys'
import type { ServiceEnvironment } from '@warder/runtime'
import { type Change, type Database, GuardFailed } from '@warder/storage'
import { getNotices } from './notices.ts'
import type { KmsConfig } from './settings.ts'

type Environment = Pick<
  ServiceEnvironment<KmsConfig>,
  'config' | 'db' | 'seal' | 'audit' | 'outbound' | 'clock' | 'log' | 'metrics'
>

const pageSize = 500
/** The notices about a key's destruction name its users of so many days before. */
const noticeDays = 30
/** Before the date, milliseconds: the second notice. */
const nearMs = 86_400_000

/**
 * Scans all pending destructions once: announces those that are new or near, and executes those that are due. One node
 * does it (the lease of periodic work). A destruction is one commit, guarded by the versions that were read: a
 * concurrent restore of the key succeeds or fails as a whole, and a killed process leaves the key as it was.
 */
export async function carryOutDestructions(environment: Environment): Promise<void> {
  const { db, clock, log, metrics } = environment
  const now = clock.now()
  const ranMs = await look(db, now)
  for (let after = ''; ; ) {
    const page = await objectsAwaitingDestruction(db, after, pageSize)
    for (const { id } of page) {
      try {
        // It may have been destroyed with its other half, or restored.
        const object = await findObject(db, id)
        if (object?.destructionAt === undefined || (await goesWithItsKey(db, object))) continue
        if (isDestructionDue(object, now, ranMs)) await destroy(environment, object, now)
        else await announce(environment, object, now)
      } catch (error) {
        if (error instanceof GuardFailed) {
          log.info({ object: id }, 'a key was changed when its destruction was due; the next scan decides')
          continue
        }
        metrics.count('destructions_failed_total')
        log.warn({ object: id, error }, 'a pending destruction failed and will be repeated')
      }
    }
    if (page.length < pageSize) return
    after = page.at(-1)?.id ?? ''
  }
}

/** A version that waits with its key. */
async function goesWithItsKey(db: Database, object: ManagedObject): Promise<boolean> {
  const { chainId, destruction } = object
  if (chainId === undefined || !isLaterVersion(object)) return false
  const key = await findObject(db, chainId)
  return key?.destruction?.askedAt === destruction?.askedAt
}

async function destroy(environment: Environment, object: ManagedObject, now: number): Promise<void> {
  const { db, seal, audit, log, metrics } = environment
  const { destruction } = object
  if (destruction === undefined) return
  const other = await otherHalf(db, object)
  const along = other?.destruction?.askedAt === destruction.askedAt
  const parts = along && other !== undefined ? [object, other] : [object]
  await requireNotWrapping(
    db,
    (await withVersions(db, parts)).map((before) => ({ before, after: undefined })),
  )
  const changes: Change[] =
    destruction.manner === 'remove'
      ? await keyRemovalChanges(db, parts, now)
      : parts.flatMap((part) =>
          updateChanges(db, seal, { before: part, after: destroyAfterWait(part, now), material: null }, now),
        )
  const about = {
    ...(parts.length > 1 && { linked: parts[1]?.id }),
    asked_by: destruction.by,
    asked_at: new Date(destruction.askedAt).toISOString(),
    manner: destruction.manner,
  }
  const event: AuditEvent = {
    ...createOwnEvent(now, 'crypto.keys.destruction'),
    object: object.id,
    ...(object.algorithm !== undefined && { algorithm: object.algorithm }),
    details: about,
  }
  await recordAround(audit, event, () => db.commit(changes))
  metrics.count('destructions_total', { outcome: 'carried_out' })
  log.warn({ object: object.id, ...about }, 'a key was destroyed after its delay')
  await getNotices(environment)?.tell('destruction.carried_out', {
    key: object.id,
    owner: object.owner,
    ...about,
  })
}

/** Writes the audit record before the key is removed; if it cannot be written, the key stays. */
async function recordAround(
  audit: AuditTrail,
  event: AuditEvent,
  act: () => Promise<unknown>,
): Promise<void> {
  if (audit.mode === 'reject') await audit.recordDurably(event)
  else audit.record(event)
  try {
    await act()
  } catch (error) {
    audit.record({ ...event, outcome: 'failure', status: 500, reason: 'not_committed' })
    throw error
  }
}

/**
 * Announces once that a destruction is pending, and once that it is near: in the log, as a metric, and to the webhook,
 * with the recent users of the key. The notice is marked as sent first: a kill between the two loses a notice of the
 * webhook, but never repeats it without end.
 */
async function announce(environment: Environment, object: ManagedObject, now: number): Promise<void> {
  const { db, log, metrics } = environment
  const { destruction, destructionAt } = object
  if (destruction === undefined || destructionAt === undefined) return
  const step = destructionAt - now <= nearMs ? 2 : 1
  if (destruction.announced >= step) return
  const users = await usersSince(db, getChainId(object), toDay(now) - noticeDays)
  await db.commit(withholdingChanges(db, object, { destruction: { ...destruction, announced: step } }, now))
  const stage = step === 1 ? 'waits' : 'near'
  metrics.count('destructions_total', { outcome: stage })
  const about = {
    owner: object.owner,
    by: destruction.by,
    destruction_at: new Date(destructionAt).toISOString(),
    used_by: users.map(({ user }) => user),
  }
  log.warn(
    { object: object.id, ...about },
    step === 1 ? 'the destruction of a key is pending' : 'a key will be destroyed soon',
  )
  await getNotices(environment)?.tell(`destruction.${stage}`, { key: object.id, ...about })
}
