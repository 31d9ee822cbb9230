import { type ManagedObject, objectsEndingBetween } from '@warder/keys'
import { raiseMark, readMark, type ServiceEnvironment } from '@warder/runtime'
import { GuardFailed } from '@warder/storage'
import { getNotices } from './notices.ts'
import type { KmsConfig } from './settings.ts'

const dayMs = 86_400_000
/** Days before the end at which a notice is sent, besides `notice_days`. */
const lastDays = [7, 1]
/** Objects of one run for each number of days; the next run continues. */
const maxObjects = 2000
/** Objects that one notice names. */
const maxNamed = 100
const markKeptMs = 3650 * dayMs

type Environment = ServiceEnvironment<KmsConfig>

/** Whether anything of this is sent. */
export async function announcesEnds(environment: Environment): Promise<boolean> {
  const notices = getNotices(environment)
  return notices?.announces('key.ending') === true || notices?.announces('certificate.ending') === true
}

/**
 * Announces keys and certificates that end within `notice_days`, 7 days and 1 day. Each number of days has a mark in the
 * database up to which ends were announced, so that an end is announced once over all nodes, and none is left out by a kill:
 * the mark and the notices are one commit.
 */
export async function announceEnds(environment: Environment): Promise<void> {
  const first = environment.config.notice_days
  const steps = [first, ...lastDays.filter((days) => days < first)]
  for (const [index, days] of steps.entries()) await announceStep(environment, days, steps[index + 1] ?? 0)
}

/** @param next the following number of days: at the first run those that are nearer belong to it */
async function announceStep(environment: Environment, days: number, next: number): Promise<void> {
  const { db, clock, log } = environment
  const notices = getNotices(environment)
  if (notices === undefined) return
  const now = clock.now()
  const subject = `ends within ${days} days`
  const before = await readMark(db, subject)
  const from = before ?? now + next * dayMs
  const found = await objectsEndingBetween(db, { from, to: now + days * dayMs, limit: maxObjects })
  const to = getLastWholeEnd(found) ?? now + days * dayMs
  if (to <= from) return
  const ending = found.filter((object) => (object.deactivationAt ?? 0) <= to && isAnnounced(object, days))
  const mark = raiseMark(subject, {
    value: to,
    until: now + markKeptMs,
    below: before ?? -1,
    above: Number.MAX_SAFE_INTEGER,
  })
  const grouped = Map.groupBy(ending, (object) => `${getEvent(object)} ${object.owner}`)
  const changes = [...grouped.values()].flatMap((objects) => {
    const [first] = objects
    if (first === undefined) return []
    return notices.stage(getEvent(first), describe(first.owner, days, objects))
  })
  try {
    await db.commit([mark, ...changes])
  } catch (error) {
    if (!(error instanceof GuardFailed)) throw error
    log.debug({ days }, 'another node announced the keys that end')
  }
}

/**
 * If there are more objects than were read: the last end of which all were read, or the only one.
 * @returns undefined if all were read
 */
function getLastWholeEnd(found: readonly ManagedObject[]): number | undefined {
  if (found.length < maxObjects) return undefined
  const last = found.at(-1)?.deactivationAt
  return found.findLast(({ deactivationAt }) => deactivationAt !== last)?.deactivationAt ?? last
}

function getEvent({ type }: ManagedObject): 'certificate.ending' | 'key.ending' {
  return type === 'Certificate' ? 'certificate.ending' : 'key.ending'
}

/** Excludes public halves of pairs, replaced objects, and objects with a short lifetime. */
function isAnnounced(object: ManagedObject, days: number): boolean {
  const { type, supersededAt, destroyedAt, deactivationAt = 0, activationAt, createdAt } = object
  if (type === 'PublicKey' || supersededAt !== undefined || destroyedAt !== undefined) return false
  return deactivationAt - (activationAt ?? createdAt) >= 2 * days * dayMs
}

function describe(owner: string, days: number, objects: readonly ManagedObject[]): object {
  const named = objects.slice(0, maxNamed).map(({ id, chainId = id, algorithm, deactivationAt = 0 }) => ({
    id: chainId,
    ...(algorithm !== undefined && { algorithm }),
    ends_at: new Date(deactivationAt).toISOString(),
  }))
  const more = objects.length - named.length
  return { owner, within_days: days, objects: named, ...(more > 0 && { more }) }
}
