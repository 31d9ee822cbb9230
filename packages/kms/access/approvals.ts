import { createHash } from 'node:crypto'
import { type Failure, failure } from '@warder/foundation/errors'
import type { Seal } from '@warder/foundation/seal'
import type { Change, Database } from '@warder/foundation/sql'
import type { ManagedObject } from '../keys/index.ts'
import type { Approvable, ApprovableOnObject, ApprovalPolicy } from './approval-policy.ts'
import {
  type ApprovalRequest,
  approvedRequests,
  stateChange,
  type Vote,
  votesOn,
  type Wish,
} from './approval-store.ts'
import type { Officers } from './officers.ts'
import type { Roles } from './permission.ts'
import { votersAmong } from './voters.ts'

export interface ApprovalServices {
  readonly db: Database
  readonly seal: Seal
  readonly roles: { readonly officers: Officers; readonly approvals: ApprovalPolicy }
}

/** SHA-256 of exactly what is asked for, base64url: officers name it when they approve. */
export function hashOf({
  id,
  operation,
  object,
  version,
  user,
  rights,
  restore,
  requester,
  createdAt,
  until,
}: Wish): string {
  const members = [
    ...[id, operation, object, version, user ?? null, rights ?? null, requester, createdAt, until],
    ...(restore === undefined ? [] : [restore.madeAt, restore.restoredAt]),
  ]
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url')
}

/** Approvals that count: of `votersAmong`, for exactly this, and not the requester's own. */
export function approvalsAmong(
  votes: readonly Vote[],
  wish: Wish,
  voters: ReadonlySet<string>,
): readonly string[] {
  const hash = hashOf(wish)
  return votes
    .filter(
      (vote) => vote.approves && vote.hash === hash && vote.user !== wish.requester && voters.has(vote.user),
    )
    .map(({ user }) => user)
}

/** Whether the refusals leave too few officers to reach the quorum. */
export function isBeyondReach(votes: readonly Vote[], wish: Wish, { listed, quorum }: Officers): boolean {
  const refusing = new Set(votes.filter(({ approves }) => !approves).map(({ user }) => user))
  const left = [...listed].filter((user) => user !== wish.requester && !refusing.has(user))
  return left.length < quorum
}

export function approvalNeeded(operation: Approvable, { quorum }: Officers): Failure {
  return failure(
    'forbidden',
    `This takes the approval of ${quorum} crypto officers: ask for it (POST /access/approvals, or warder officers ask ${wordOf(operation)}).`,
    { members: { approval: operation } },
  )
}

/** What `warder officers ask` calls it. */
function wordOf(operation: Approvable): string {
  return operation === 'restore_backup' ? 'restore' : operation.replace('_', '-')
}

/**
 * Lets an operation on an object pass that takes no approval, or that was approved for this caller.
 * @returns what has to be committed with the operation, so that an approval is used once; undefined: nothing
 * @throws failure('forbidden') that says how to ask for an approval
 */
export async function requireApproval(
  { db, seal, roles }: ApprovalServices,
  operation: ApprovableOnObject,
  object: ManagedObject,
  caller: string,
  now: number,
): Promise<Change | undefined> {
  const { approvals, officers } = roles
  if (!(await approvals.covers(operation, object))) return undefined
  for (const request of await approvedRequests(db, seal, { object: object.id, operation }, now)) {
    if (request.wish.requester !== caller) continue
    if (request.wish.version === object.version && (await isApproved(db, seal, request, officers, now)))
      return stateChange(seal, request, 'done')
  }
  throw approvalNeeded(operation, officers)
}

/** Counted anew when it is used: an officer who left the settings or was revoked meanwhile does not count. */
async function isApproved(
  db: Database,
  seal: Seal,
  { wish }: ApprovalRequest,
  officers: Officers,
  now: number,
): Promise<boolean> {
  const voters = await votersAmong(db, officers, now)
  return approvalsAmong(await votesOn(db, seal, wish.id), wish, voters).length >= officers.quorum
}

/**
 * Tags that put an object under approvals, or make its destruction wait, stay: else whoever may change tags decides about
 * both.
 * @throws failure('forbidden')
 */
export function requireKeptTags(
  { approvals, destructions }: Pick<Roles, 'approvals' | 'destructions'>,
  before: readonly string[],
  after: readonly string[],
): void {
  const gone = before.filter((tag) => !after.includes(tag))
  const approved = gone.find((tag) => approvals.keeps(tag))
  if (approved !== undefined)
    throw failure('forbidden', `The tag ${approved} puts the key under approvals and cannot be taken away.`)
  const waits = gone.find((tag) => destructions.keeps(tag))
  if (waits !== undefined)
    throw failure(
      'forbidden',
      `The tag ${waits} makes the destruction of the key wait and cannot be taken away.`,
    )
}
