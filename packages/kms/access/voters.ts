import type { Database } from '@warder/foundation/sql'
import { readBlocks } from './block-store.ts'
import { lastEnd } from './officer-store.ts'
import type { Officers } from './officers.ts'

/**
 * Officers whose approvals count now: those who are listed, not blocked, and whose activation, where a ceremony is
 * required, was not ended by another officer. Who stepped down, or whose time is over, votes like every dormant officer.
 */
export async function votersAmong(
  db: Database,
  { listed, requireCeremony }: Pick<Officers, 'listed' | 'requireCeremony'>,
  now: number,
): Promise<ReadonlySet<string>> {
  const blocked = (await readBlocks(db))?.value
  const voters = new Set<string>()
  for (const user of listed) {
    if (blocked?.has(user) === true) continue
    if (requireCeremony && (await wasRevoked(db, user, now))) continue
    voters.add(user)
  }
  return voters
}

/** Whether another officer ended what activated this one last. */
export async function wasRevoked(db: Database, user: string, now: number): Promise<boolean> {
  const last = await lastEnd(db, user)
  return last !== undefined && last.ended_at !== null && last.ended_at <= now && last.ended_by !== user
}
