import { createHash } from 'node:crypto'
import { type Failure, failure } from '@warder/base'
import type { Principal } from '@warder/server'
import type { Change, Database, Seal } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import type { VoteRule } from './approval-policy.ts'
import {
  type ApprovalRequest,
  type CredentialScope,
  listApprovedRequests,
  stateChange,
  type Vote,
  votesOn,
  type Wish,
} from './approval-store.ts'
import { isWaiting, requireCredentialWaited } from './credential-wait-store.ts'
import { type Officers, type Voters, votersAmong } from './officers.ts'
import type { Roles } from './permission.ts'
import type { Approvable, ApprovableOnObject } from './settings.ts'

export interface ApprovalServices {
  readonly db: Database
  readonly seal: Seal
  readonly roles: Pick<Roles, 'officers' | 'approvals'>
}

/** SHA-256 of the exact content of a request, base64url: officers name it when they approve. */
export function hashRequest({
  id,
  operation,
  object,
  version,
  user,
  rights,
  restore,
  credential,
  wrappedBy,
  reason,
  requester,
  createdAt,
  until,
}: Wish): string {
  const members = [
    ...[id, operation, object, version, user ?? null, rights ?? null, requester, createdAt, until],
    ...(restore === undefined ? [] : [restore.madeAt, restore.restoredAt]),
    ...(credential === undefined ? [] : ['access key', credential.uriPrefix, credential.region]),
    ...(wrappedBy === undefined ? [] : ['wrapped by', wrappedBy]),
    ...(reason === undefined ? [] : ['reason', reason]),
  ]
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url')
}

/**
 * Approvals that count: of `votersAmong`, for exactly this, not the requester's own, and with a credential that votes by
 * the rule of now.
 */
export function approvalsAmong(
  votes: readonly Vote[],
  wish: Wish,
  voters: Voters,
  rule: VoteRule,
): readonly string[] {
  const hash = hashRequest(wish)
  return votes
    .filter((vote) => vote.approves && vote.hash === hash && mayVoteWith(rule.voteWith, vote.method))
    .filter(({ user, method, at }) => !isWaiting(rule, method, voters.get(user), at))
    .filter(({ user }) => user !== wish.requester && voters.has(user))
    .map(({ user }) => user)
}

/** Whether a credential of this method votes. @param method undefined: unknown */
function mayVoteWith(voteWith: readonly string[], method: string | undefined): boolean {
  return voteWith.length === 0 || (method !== undefined && voteWith.includes(method))
}

/**
 * For votes, and for each step of a ceremony.
 * @throws failure('forbidden') for a credential that does not vote by the rule, or not yet
 */
export async function requireVoteCredential(
  db: Database,
  rule: VoteRule,
  principal: Pick<Principal, 'name' | 'method'>,
  now: number,
): Promise<void> {
  const { voteWith } = rule
  const { method } = principal
  if (mayVoteWith(voteWith, method)) return requireCredentialWaited(db, rule, principal, now)
  throw failure(
    'forbidden',
    `approvals.vote_with: crypto officers vote and hold ceremonies with ${voteWith.join(' or ')} here, not with ${method}.`,
  )
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
    `This requires the approval of ${quorum} crypto officers: request it (POST /access/approvals, or warder officers ask ${toCommandWord(operation)}).`,
    { members: { approval: operation } },
  )
}

/** Name of the operation in `warder officers ask`. */
function toCommandWord(operation: Approvable): string {
  return operation === 'restore_backup' ? 'restore' : operation.replace('_', '-')
}

/**
 * Refuses an operation that requires approval on any of the objects: such requests are executed when they are approved,
 * so there is no approval to use here.
 * @throws failure('forbidden') with a message on how to request approval
 */
export async function requireNoApproval(
  { approvals, officers }: ApprovalServices['roles'],
  operation: ApprovableOnObject,
  objects: readonly ManagedObject[],
): Promise<void> {
  for (const object of objects)
    if (await approvals.covers(operation, object)) throw approvalNeeded(operation, officers)
}

/**
 * Lets part of a key be destroyed, as secrets of an attribute-based master key are, which no request can ask for.
 * @throws failure('forbidden') where destroying the key takes approvals, or waits
 */
export async function requirePartsMayGo(
  { approvals, destructions }: Pick<Roles, 'approvals' | 'destructions'>,
  object: ManagedObject,
): Promise<void> {
  const isGuarded = await approvals.covers('destroy', object)
  if (!isGuarded && (await destructions.daysOf(object)) === 0) return
  const reason = isGuarded ? 'requires the approval of crypto officers' : 'waits'
  throw failure(
    'forbidden',
    `This removes secrets of the key permanently, and its destruction ${reason}: renew them without removing the former ones, or destroy the whole key.`,
  )
}

/**
 * Permits an export of material that requires no approval or was approved for this caller; with the wrapping key that
 * the request named, if it named one.
 * @returns changes to commit with the export, so that an approval is used only once; undefined: none
 * @throws failure('forbidden') with a message on how to request approval
 */
export async function requireApproval(
  { db, seal, roles }: ApprovalServices,
  {
    object,
    caller,
    now,
    wrappedBy,
  }: {
    readonly object: ManagedObject
    readonly caller: string
    readonly now: number
    readonly wrappedBy: () => Promise<string | undefined>
  },
): Promise<Change | undefined> {
  const { approvals, officers } = roles
  if (!(await approvals.covers('export', object))) return undefined
  for (const request of await listApprovedRequests(
    db,
    seal,
    { object: object.id, operation: 'export' },
    now,
  )) {
    const { wish } = request
    if (wish.requester !== caller || wish.version !== object.version) continue
    if (wish.wrappedBy !== undefined && wish.wrappedBy !== (await wrappedBy())) continue
    if (await isApproved(db, seal, request, roles, now)) return stateChange(seal, request, 'done')
  }
  throw approvalNeeded('export', officers)
}

/**
 * Permits the creation of an access key for AWS KMS that officers approved for this caller and this store.
 * @returns changes to commit with it, so that an approval is used only once
 * @throws failure('forbidden') with a message on how to request approval
 */
export async function requireApprovedCredential(
  { db, seal, roles }: ApprovalServices,
  caller: string,
  { uriPrefix, region }: CredentialScope,
  now: number,
): Promise<Change> {
  for (const request of await listApprovedRequests(
    db,
    seal,
    { object: 'aws', operation: 'access_key' },
    now,
  )) {
    const { requester, credential } = request.wish
    if (requester !== caller || credential?.uriPrefix !== uriPrefix || credential.region !== region) continue
    if (await isApproved(db, seal, request, roles, now)) return stateChange(seal, request, 'done')
  }
  throw approvalNeeded('access_key', roles.officers)
}

/**
 * Votes are counted again at the use: officers who were removed from the settings or revoked meanwhile do not count.
 */
async function isApproved(
  db: Database,
  seal: Seal,
  { wish }: ApprovalRequest,
  { officers, approvals }: ApprovalServices['roles'],
  now: number,
): Promise<boolean> {
  const voters = await votersAmong(db, officers, now)
  const votes = await votesOn(db, seal, wish.id)
  return approvalsAmong(votes, wish, voters, approvals).length >= officers.quorum
}

/**
 * Refuses to remove tags that put an object under approvals or delay its destruction: otherwise the right to change
 * tags would bypass both.
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
    throw failure('forbidden', `The tag ${approved} puts the key under approvals and cannot be removed.`)
  const waits = gone.find((tag) => destructions.keeps(tag))
  if (waits !== undefined)
    throw failure('forbidden', `The tag ${waits} delays the destruction of the key and cannot be removed.`)
}
