import { createHash } from 'node:crypto'
import { StartupError } from '@warder/base'
import {
  type Change,
  type Database,
  findRestored,
  GuardFailed,
  retryOnGuard,
  type Seal,
} from '@warder/storage'
import { toVoteRule } from './approval-policy.ts'
import {
  type ApprovalRequest,
  type Governance,
  listApprovedRequests,
  stateChange,
  votesOn,
} from './approval-store.ts'
import { approvalsAmong } from './approvals.ts'
import { officersNamedChange } from './credential-wait-store.ts'
import { findGovernance, firstGovernance, hasGovernance, replaceGovernance } from './governance-store.ts'
import { computeQuorum, votersAmong } from './officers.ts'
import { resolveHold } from './restore.ts'
import { findHold } from './restore-store.ts'
import { type ApprovalSettings, defaultCredentialWaitSeconds, type OfficerSettings } from './settings.ts'

export function toGovernance(officers: OfficerSettings, approvals: ApprovalSettings): Governance {
  return { officers: { ...officers, quorum: officers.quorum ?? null }, approvals }
}

const sortUnique = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()

/** SHA-256 of the normalized settings, base64url: the order of lists does not matter. */
export function digestOfGovernance({ officers, approvals }: Governance): string {
  const { users, requireCeremony, quorum, validitySeconds } = officers
  const { operations, tags, algorithms, owners, voteWith = [] } = approvals
  const wait = approvals.credentialWaitSeconds ?? defaultCredentialWaitSeconds
  const members = [
    [sortUnique(users), requireCeremony, quorum, validitySeconds],
    [...[operations, tags, algorithms, owners].map(sortUnique), approvals.validitySeconds],
    // Without these, settings mean the same as in records of older versions.
    ...(voteWith.length === 0 ? [] : [sortUnique(voteWith)]),
    ...(wait === defaultCredentialWaitSeconds ? [] : [{ credential_wait: wait }]),
  ]
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url')
}

interface Parts {
  readonly db: Database
  readonly seal: Seal
  /** Unix milliseconds. */
  readonly now: number
}

type ReadParts = Omit<Parts, 'seal'> & { readonly seal: Pick<Seal, 'open'> }

/** Finding of a start: nothing recorded before, the same, a change that needs no approval, or an approved one. */
export type Adopted = 'first' | 'same' | 'changed' | 'approved'

const attempts = 10

/**
 * Puts the settings into force. If the previous ones require approval for changes of settings, the previous officers
 * must have approved exactly these.
 * @param isHeld a restored backup waits for the officers recorded in it, who cannot be replaced meanwhile
 * @throws StartupError when they have not
 */
export async function adoptGovernance(parts: Parts, wanted: Governance, isHeld: boolean): Promise<Adopted> {
  let adopted: Adopted = 'same'
  await retryOnGuard(attempts, async () => {
    const { db, seal } = parts
    const recorded = await findGovernance<Governance>(db, seal)
    if (recorded === undefined) {
      adopted = 'first'
      await db.commit([firstGovernance(seal, wanted), ...namingChanges(parts, undefined, wanted)])
      return
    }
    if (digestOfGovernance(recorded.value) === digestOfGovernance(wanted)) {
      adopted = 'same'
      return
    }
    const taken = isHeld || recorded.value.approvals.operations.includes('settings')
    const used = taken
      ? await findApproval(parts, recorded.value, 'settings', digestOfGovernance(wanted))
      : undefined
    if (taken && used === undefined) {
      // Another node may have used it up since the settings were read, for the same ones.
      const again = await findGovernance<Governance>(db, seal)
      if (again?.version !== recorded.version) throw new GuardFailed(0)
      throw notApproved(recorded.value, isHeld)
    }
    adopted = taken ? 'approved' : 'changed'
    await db.commit([
      ...(used === undefined ? [] : [stateChange(seal, used, 'done')]),
      replaceGovernance(seal, wanted, recorded.version),
      ...namingChanges(parts, recorded.value, wanted),
    ])
  })
  return adopted
}

/** Keeps when officers were first named. Officers that an older version recorded were named at a time that is not known. */
function namingChanges(
  { now }: Parts,
  recorded: Governance | undefined,
  wanted: Governance,
): readonly Change[] {
  if (recorded !== undefined && recorded.officers.users.length > 0) return [officersNamedChange(0)]
  return wanted.officers.users.length > 0 ? [officersNamedChange(now)] : []
}

/**
 * Refuses settings that `adoptGovernance` would refuse, and takes nothing.
 * @throws StartupError
 */
export async function requireAdoptable(parts: ReadParts, wanted: Governance): Promise<void> {
  const { db, seal } = parts
  if (!(await hasGovernance(db))) return
  const recorded = (await findGovernance<Governance>(db, seal))?.value
  if (recorded === undefined || digestOfGovernance(recorded) === digestOfGovernance(wanted)) return
  const isHeld = await isRestoreHeld(parts, recorded)
  if (!isHeld && !recorded.approvals.operations.includes('settings')) return
  if ((await findApproval(parts, recorded, 'settings', digestOfGovernance(wanted))) === undefined)
    throw notApproved(recorded, isHeld)
}

/** Whether a start would hold a backup that was restored. */
async function isRestoreHeld({ db, seal }: ReadParts, recorded: Governance): Promise<boolean> {
  const before = (await findHold(db, seal))?.value
  return resolveHold(recorded, before, await findRestored(db))?.state === 'held'
}

function notApproved(recorded: Governance, isHeld: boolean): StartupError {
  if (isHeld)
    return new StartupError(
      `[roles] and [approvals] differ from those of the restored backup, which requires the approval of ${those(recorded)}. ` +
        'Start with the settings of the backup, and change them after the approval',
    )
  return new StartupError(
    `[roles] or [approvals] were changed, which requires the approval of ${those(recorded)}. ` +
      'Start with the previous settings; while the service runs, change the file and request the approval: warder officers ask settings',
  )
}

/** The unused request that the recorded officers approved; undefined: there is none. */
async function findApproval(
  { db, seal, now }: ReadParts,
  { officers, approvals }: Governance,
  operation: 'settings' | 'root_key',
  object: string,
): Promise<ApprovalRequest | undefined> {
  const listed = new Set(officers.users)
  const quorum = computeQuorum(listed.size, officers.quorum ?? undefined)
  const voters = await votersAmong(db, { listed, requireCeremony: officers.requireCeremony }, now)
  for (const request of await listApprovedRequests(db, seal, { object, operation }, now)) {
    const votes = await votesOn(db, seal, request.wish.id)
    if (approvalsAmong(votes, request.wish, voters, toVoteRule(approvals)).length >= quorum) return request
  }
  return undefined
}

function those({ officers: { users, quorum } }: Governance): string {
  const listed = new Set(users)
  return `${computeQuorum(listed.size, quorum ?? undefined)} of these crypto officers: ${[...listed].join(', ')}`
}

/**
 * Permits another root key if that requires no approval or was approved.
 * @returns the change to commit after the key was changed, so that an approval is used only once; undefined: none
 * @throws StartupError when it requires an approval and has none
 */
export async function rootKeyApproval(parts: Parts): Promise<Change | undefined> {
  if (!(await hasGovernance(parts.db))) return undefined
  const recorded = await findGovernance<Governance>(parts.db, parts.seal)
  if (recorded === undefined || !recorded.value.approvals.operations.includes('root_key')) return undefined
  const used = await findApproval(parts, recorded.value, 'root_key', 'root_key')
  if (used !== undefined) return stateChange(parts.seal, used, 'done')
  throw new StartupError(
    `another root key requires the approval of ${those(recorded.value)}. Request it: warder officers ask root-key`,
  )
}
