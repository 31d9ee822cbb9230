import {
  type BudgetStep,
  budgetMark,
  budgetStep,
  budgetsToLookAt,
  type DueBudget,
  findObjectsByIds,
  isEnding,
  type ManagedObject,
  type MessageLimit,
  maxInvocations,
  nextLook,
  type RotationPolicy,
  resolveSchedule,
  stateAt,
  tagsOfMany,
  useRetryMs,
} from '@warder/keys'
import { type RotationEnvironment, rotateOne } from './rotate-one.ts'
import { isWritten, tellEnding, tellSoon } from './rotation-notices.ts'

const pageSize = 500
/** Max pages of one run: versions whose messages have reached the number at which they are checked. */
const maxPages = 20

/** A version with its key and the action for it. */
interface Weighed {
  readonly due: DueBudget
  readonly key: ManagedObject
  readonly limit: MessageLimit
  readonly step: BudgetStep
}

/**
 * Checks the newest versions whose AES-GCM messages have reached their stored number: rotates those that reached the
 * limit of the key or a rule, and announces upcoming rotations and the end of a budget. Then it stores the number at
 * which the version is checked again. A version that cannot be rotated is postponed, so that the others are processed.
 */
export async function lookAtBudgets(
  environment: RotationEnvironment,
  policy: RotationPolicy,
  maxRotations: number,
  now: number,
): Promise<void> {
  let left = maxRotations
  for (let page = 0; page < maxPages && left > 0; page += 1) {
    const found = await budgetsToLookAt(environment.db, now, pageSize)
    for (const one of await selectDue(environment, found, policy, now)) {
      if (one.step !== 'rotate') await tellStep(environment, one, now)
      else if (left > 0 && (await isRotated(environment, one, now))) left -= 1
    }
    if (found.length < pageSize) return
  }
}

/** Selects versions that need an action. For the others it stores when they are checked next. */
async function selectDue(
  { db }: RotationEnvironment,
  found: readonly DueBudget[],
  policy: RotationPolicy,
  now: number,
): Promise<readonly Weighed[]> {
  const versions = await findObjectsByIds(
    db,
    found.map(({ id }) => id),
  )
  const keys = await findObjectsByIds(
    db,
    [...versions.values()].flatMap(({ chainId }) => chainId ?? []),
  )
  const tags = await tagsOfMany(
    db,
    [...versions.values()].map(({ id, chainId }) => chainId ?? id),
  )
  const selectDue = found.map((due): Weighed | undefined => {
    const version = versions.get(due.id)
    const key = version?.chainId === undefined ? version : keys.get(version.chainId)
    if (version === undefined || key === undefined || version.supersededAt !== undefined) return undefined
    if (stateAt(version, now) !== 'Active') return undefined
    const { afterMessages } = resolveSchedule(key, policy.of(key.algorithm, tags.get(key.id) ?? []))
    const limit = { limit: afterMessages, announced: policy.noticeMs > 0 }
    return { due, key, limit, step: budgetStep(due, limit) }
  })
  const waiting = found.flatMap((due, index) => {
    const one = selectDue[index]
    // A version that cannot encrypt now is checked again after its next message.
    if (one === undefined) return budgetMark(due, { lookFrom: due.reserved + 1 })
    return one.step === 'wait' ? budgetMark(due, { lookFrom: nextLook(due, one.limit) }) : []
  })
  if (waiting.length > 0) await db.commit(waiting)
  return selectDue.filter((one) => one !== undefined && one.step !== 'wait') as readonly Weighed[]
}

/** Sends a notice once. It is marked as sent first: a kill between the two loses the notice. */
async function tellStep(
  environment: RotationEnvironment,
  { due, key, limit, step }: Weighed,
  now: number,
): Promise<void> {
  const told = step === 'announce' ? (limit.limit ?? 0) : maxInvocations
  const lookFrom = nextLook({ ...due, told }, limit)
  if (!(await isWritten(environment, budgetMark(due, { lookFrom, told })))) return
  if (step === 'warn') return tellEnding(environment, key, due.reserved, now)
  const when = { messages: due.reserved, rotates_after_messages: told }
  await tellSoon(environment, key, when, now, key.rotateAfter)
}

/** A version that cannot be rotated is checked last, and warns of the end of its budget like a key without rotation. */
async function isRotated(
  environment: RotationEnvironment,
  { due, key }: Weighed,
  now: number,
): Promise<boolean> {
  const outcome = await rotateOne(environment, key, { by: 'use' }, now)
  if (outcome === 'rotated') return true
  const ends = outcome === 'refused' && isEnding(due)
  const lookAt = outcome === 'refused' ? now + useRetryMs : now + 1
  const isFirst = await isWritten(
    environment,
    budgetMark(due, { lookAt, ...(ends && { told: maxInvocations }) }),
  )
  if (ends && isFirst) await tellEnding(environment, key, due.reserved, now)
  return false
}
