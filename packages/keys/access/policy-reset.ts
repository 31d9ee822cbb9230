import { StartupError } from '@warder/base'
import { type Database, hasTable, type Seal } from '@warder/storage'
import type { Governance } from './approval-store.ts'
import { officersNamedChange } from './credential-wait-store.ts'
import { findGovernance, firstGovernance, hasGovernance, removeGovernance } from './governance-store.ts'
import { findHold, removeHold } from './restore-store.ts'

interface Parts {
  readonly db: Database
  readonly seal: Seal
}

/** Record of a policy that was reset by an operator with the files of the installation and its root key. */
export interface PolicyReset {
  /** Unix milliseconds. */
  readonly at: number
  /** The account of the operating system, as reported by the system; not verified. */
  readonly by: string
  /** The officers, their quorum, and the operations that required approval. */
  readonly officers: readonly string[]
  readonly quorum: number | null
  readonly operations: readonly string[]
  /** SHA-256 of the file of the backup that waited for them; null = none did. */
  readonly held: string | null
}

/**
 * The policy that a reset would remove: after the reset no user can approve requests.
 * @throws StartupError when nothing is recorded
 */
export async function policyToReset({ db, seal }: Parts): Promise<Omit<PolicyReset, 'at' | 'by'>> {
  const recorded = (await hasGovernance(db)) ? await findGovernance<Governance>(db, seal) : undefined
  if (recorded === undefined)
    throw new StartupError('no officers and approvals are recorded: nothing to reset')
  const { officers, approvals } = recorded.value
  const hold = (await hasTable(db, 'restore_hold')) ? await findHold(db, seal) : undefined
  return {
    officers: officers.users,
    quorum: officers.quorum,
    operations: approvals.operations,
    held: hold?.value.state === 'held' ? hold.value.backup : null,
  }
}

/**
 * Removes the recorded officers and approvals, and releases a restored backup that waited for them. The next start
 * adopts those of its settings and audits the removal.
 */
export async function resetPolicy({ db, seal }: Parts, reset: PolicyReset): Promise<void> {
  const recorded = await findGovernance<Governance>(db, seal)
  if (recorded === undefined) throw new StartupError('they were reset concurrently')
  const before = await findGovernance(db, seal, 'reset')
  if (before !== undefined)
    throw new StartupError('an earlier reset is not recorded yet: start the service once')
  const released = (await hasTable(db, 'restore_hold')) ? [removeHold()] : []
  // Credentials of later officers have a waiting period, because a reset is not the set-up.
  const named = (await hasTable(db, 'officer_credential')) ? [officersNamedChange(0)] : []
  await db.commit([
    firstGovernance(seal, reset, 'reset'),
    removeGovernance('settings', recorded.version),
    ...named,
    ...released,
  ])
}

/**
 * A reset that no start has audited yet.
 * @returns the reset, and the change that deletes its record
 */
export async function findUnrecordedReset({ db, seal }: Parts) {
  const found = await findGovernance<PolicyReset>(db, seal, 'reset')
  return found && { reset: found.value, forgotten: removeGovernance('reset', found.version) }
}
