import { createHash } from 'node:crypto'
import { type Failure, failure } from '@warder/foundation/errors'
import type { Seal } from '@warder/foundation/seal'
import type { Change, Database } from '@warder/foundation/sql'
import type { ManagedObject } from '../keys/index.ts'
import type { Approvable, ApprovalPolicy } from './approval-policy.ts'
import {
  type ApprovalRequest,
  approvedRequests,
  stateChange,
  type Vote,
  votesOn,
  type Wish,
} from './approval-store.ts'
import type { Officers } from './officers.ts'

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
  requester,
  createdAt,
  until,
}: Wish): string {
  const members = [id, operation, object, version, user ?? null, rights ?? null, requester, createdAt, until]
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url')
}

/** Approvals that count: of officers who are listed now, for exactly this, and not the requester's own. */
export function approvalsAmong(votes: readonly Vote[], wish: Wish, { listed }: Officers): readonly string[] {
  const hash = hashOf(wish)
  return votes
    .filter(
      (vote) => vote.approves && vote.hash === hash && vote.user !== wish.requester && listed.has(vote.user),
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
    `This takes the approval of ${quorum} crypto officers: ask for it (POST /access/approvals, or warder officers ask ${operation}).`,
    { members: { approval: operation } },
  )
}

/**
 * Lets an operation on an object pass that takes no approval, or that was approved for this caller.
 * @returns what has to be committed with the operation, so that an approval is used once; undefined: nothing
 * @throws failure('forbidden') that says how to ask for an approval
 */
export async function requireApproval(
  { db, seal, roles }: ApprovalServices,
  operation: Approvable,
  object: ManagedObject,
  caller: string,
  now: number,
): Promise<Change | undefined> {
  const { approvals, officers } = roles
  if (!(await approvals.covers(operation, object))) return undefined
  const about = { requester: caller, object: object.id, operation }
  for (const request of await approvedRequests(db, seal, about, now)) {
    if (request.wish.version === object.version && (await isApproved(db, seal, request, officers)))
      return stateChange(seal, request, 'done')
  }
  throw approvalNeeded(operation, officers)
}

/** Counted anew when it is used: an officer who left the settings meanwhile does not count. */
async function isApproved(
  db: Database,
  seal: Seal,
  { wish }: ApprovalRequest,
  officers: Officers,
): Promise<boolean> {
  return approvalsAmong(await votesOn(db, seal, wish.id), wish, officers).length >= officers.quorum
}

/**
 * Tags that put an object under approvals stay: else whoever may change tags decides about approvals.
 * @throws failure('forbidden')
 */
export function requireKeptTags(
  { approvals }: ApprovalServices['roles'],
  before: readonly string[],
  after: readonly string[],
): void {
  const gone = before.find((tag) => approvals.keeps(tag) && !after.includes(tag))
  if (gone !== undefined)
    throw failure('forbidden', `The tag ${gone} puts the key under approvals and cannot be taken away.`)
}
