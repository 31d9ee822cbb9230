import { type Clock, type Failure, failure } from '@warder/base'
import {
  type Change,
  createRowCache,
  type Database,
  type RestoredBackup,
  retryOnGuard,
  type Seal,
} from '@warder/storage'
import { newObjectId } from '../objects/object-id.ts'
import { findRequest, type Governance, requestChange, type Wish } from './approval-store.ts'
import { findGovernance } from './governance-store.ts'
import {
  findHold,
  holdChanges,
  holdKey,
  holdTopic,
  holdVersion,
  type RestoreHold,
  type StoredHold,
} from './restore-store.ts'

interface Parts {
  readonly db: Database
  readonly seal: Seal
  /** Unix milliseconds. */
  readonly now: number
}

/** Requester of a start's own requests: no user has this name (`isName`), so every officer may decide. */
const startRequester = '.'

const attempts = 10

/**
 * Handles a restored backup at the start: if the policy recorded in it has `restore_backup`, the installation is held
 * until its officers approve, and a request for approval is created. An expired request is created again, a refused one
 * is not.
 * @param restored undefined = this is not the first start after a restore
 * @returns undefined: the installation is not held
 */
export async function holdRestored(
  parts: Parts,
  restored: RestoredBackup | undefined,
): Promise<RestoreHold | undefined> {
  let held: RestoreHold | undefined
  await retryOnGuard(attempts, async () => {
    const { db, seal, now } = parts
    const before = await findHold(db, seal)
    const governance = (await findGovernance<Governance>(db, seal))?.value
    const wanted = resolveHold(governance, before?.value, restored)
    held = undefined
    if (wanted === undefined || wanted.state === 'released') return
    held = wanted
    if (wanted === before?.value && (await isDecidable(parts, wanted))) return
    const wish = wishFor(wanted, startRequester, now, governance?.approvals.validitySeconds ?? 0)
    held = { ...wanted, request: wish.id }
    await db.commit([...holdChanges(db, seal, held, before), requestChange(seal, wish)])
  })
  return held
}

/** The existing hold, or a new one if it is about another backup. */
export function resolveHold(
  governance: Governance | undefined,
  before: RestoreHold | undefined,
  restored: RestoredBackup | undefined,
): RestoreHold | undefined {
  const isKnown = before?.backup === restored?.digest && before?.restoredAt === restored?.restoredAt
  if (restored === undefined || isKnown) return before
  if (governance?.approvals.operations.includes('restore_backup') !== true) return before
  const { digest: backup, madeAt, restoredAt } = restored
  return { backup, madeAt, restoredAt, state: 'held', request: '' }
}

/** Whether officers can still decide about the request of the start, or did. */
async function isDecidable({ db, seal, now }: Parts, { request }: RestoreHold): Promise<boolean> {
  const found = await findRequest(db, seal, request)
  return found !== undefined && (found.state !== 'open' || found.wish.until > now)
}

/** The request to officers: exactly this restore of exactly this file. */
function wishFor(hold: RestoreHold, requester: string, now: number, validitySeconds: number): Wish {
  const { backup, madeAt, restoredAt } = hold
  return {
    id: newObjectId(now),
    operation: 'restore_backup',
    object: backup,
    version: 0,
    restore: { madeAt, restoredAt },
    requester,
    createdAt: now,
    until: now + validitySeconds * 1000,
  }
}

/** The changes that release the restored installation; undefined: the request is not about the current hold. */
export async function releaseChanges(
  db: Database,
  seal: Seal,
  { object, restore }: Wish,
): Promise<readonly Change[] | undefined> {
  const held: StoredHold | undefined = await findHold(db, seal)
  if (held === undefined) return undefined
  const { backup, restoredAt, state } = held.value
  if (state !== 'held' || backup !== object || restoredAt !== restore?.restoredAt) return undefined
  return holdChanges(db, seal, { ...held.value, state: 'released' }, held)
}

/** Whether a restored installation is still held: checked on each request if it was held at the start. */
export interface RestoreGate {
  /** Why requests are still refused; undefined = released. A release is seen at once on SQLite and by `changed`. */
  problem(): Promise<Failure | undefined>
}

/**
 * Deleting the record does not release a running process: it has to be restarted.
 * @param hold as the start found it, `held`
 */
export function createRestoreGate(
  parts: { readonly db: Database; readonly seal: Seal; readonly clock: Clock; readonly leaseMs: number },
  hold: RestoreHold,
): RestoreGate {
  const { db, seal, clock, leaseMs } = parts
  const holds = createRowCache<RestoreHold['state']>({
    db,
    clock,
    leaseMs,
    topic: holdTopic,
    version: holdVersion,
    capacity: 1,
    async load() {
      const found = await findHold(db, seal)
      return found && { version: found.version, value: found.value.state }
    },
  })
  let isReleased = false
  return {
    async problem() {
      if (isReleased) return undefined
      const state = await holds.get(holdKey)
      isReleased ||= state === 'released'
      return isReleased ? undefined : restoreHeld(hold)
    },
  }
}

function restoreHeld({ madeAt }: RestoreHold): Failure {
  return failure(
    'forbidden',
    `This installation was restored from a backup of ${new Date(madeAt).toISOString()} and serves no requests until its ` +
      'crypto officers approve the restore: warder officers requests, or GET /access/approvals.',
    { members: { approval: 'restore_backup' } },
  )
}
