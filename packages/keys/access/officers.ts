import type { Clock } from '@warder/base'
import type { Database, Seal } from '@warder/storage'
import { runningActivation } from './officer-store.ts'
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
