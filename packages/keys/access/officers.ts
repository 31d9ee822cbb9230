import type { Clock } from '@warder/base'
import type { Database, Seal } from '@warder/storage'
import { readBlocks } from './block-store.ts'
import { readSetCredentials, readWaitingCredentials } from './credential-wait-store.ts'
import { lastEnd, runningActivation } from './officer-store.ts'
import type { OfficerSettings } from './settings.ts'

/**
 * Crypto officers. A listed user is an officer at once or, if a ceremony is required, while an activation is valid.
 * Until then the user is dormant and may only create and join the keys that a ceremony needs.
 */
export interface Officers {
  /** Listed officers, active or dormant. */
  readonly listed: ReadonlySet<string>
  readonly requireCeremony: boolean
  /** Number of distinct officers whose shares a ceremony requires: at least 2. */
  readonly quorum: number
  /** Milliseconds. */
  readonly validityMs: number
  /** Whether the user is an officer now. */
  isActive(user: string): Promise<boolean>
}

/** The configured quorum, by default more than half of the officers; at least two. */
export function computeQuorum(officers: number, configured: number | undefined): number {
  return Math.max(2, configured ?? Math.floor(officers / 2) + 1)
}

export function createOfficers(
  { users, requireCeremony, quorum, validitySeconds }: OfficerSettings,
  { db, seal, clock }: { readonly db: Database; readonly seal: Seal; readonly clock: Clock },
): Officers {
  const listed = new Set(users)
  return {
    listed,
    requireCeremony,
    quorum: computeQuorum(listed.size, quorum),
    validityMs: validitySeconds * 1000,
    async isActive(user) {
      if (!listed.has(user)) return false
      if (!requireCeremony) return true
      return (await runningActivation(db, seal, user, clock.now())) !== undefined
    },
  }
}

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

/** Whether another officer ended the last activation of this one. */
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
