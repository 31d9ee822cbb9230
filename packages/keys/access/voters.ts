import type { Database } from '@warder/storage'
import { readBlocks } from './block-store.ts'
import { readSetCredentials, readWaitingCredentials } from './credential-wait-store.ts'
import { lastEnd } from './officer-store.ts'
import type { Officers } from './officers.ts'

/** Officers who may vote, and when a credential in its waiting period was set (Unix milliseconds; undefined: none). */
export type Voters = ReadonlyMap<string, number | undefined>

/**
 * Officers whose approvals count now: listed, not blocked, and, if a ceremony is required, not in need of activation.
 * Officers who stepped down or whose activation expired vote like every dormant officer.
 */
export async function votersAmong(
  db: Database,
  { listed, requireCeremony }: Pick<Officers, 'listed' | 'requireCeremony'>,
  now: number,
): Promise<Voters> {
  const blocked = (await readBlocks(db))?.value
  const setCredentials = await readSetCredentials(db)
  const waiting = await readWaitingCredentials(db)
  const voters = new Map<string, number | undefined>()
  for (const user of listed) {
    if (blocked?.has(user) === true) continue
    if (requireCeremony && (await requiresActivation(db, user, setCredentials.get(user), now))) continue
    voters.set(user, waiting.get(user))
  }
  return voters
}

/** Whether another officer ended what activated this one last. */
export async function wasRevoked(db: Database, user: string, now: number): Promise<boolean> {
  const last = await lastEnd(db, user)
  return last !== undefined && last.ended_at !== null && last.ended_at <= now && last.ended_by !== user
}

/**
 * Whether an officer needs another activation before voting, if a ceremony is required: another officer ended the last
 * one, or an administrator has set a credential since, also for an officer who never was activated.
 * @param setAt when the credential was set; undefined: never
 */
export async function requiresActivation(
  db: Database,
  user: string,
  setAt: number | undefined,
  now: number,
): Promise<boolean> {
  if (await wasRevoked(db, user, now)) return true
  if (setAt === undefined) return false
  const last = await lastEnd(db, user)
  return last === undefined || Number(last.activated_at) <= setAt
}
