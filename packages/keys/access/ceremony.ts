import { createHash, timingSafeEqual } from 'node:crypto'
import { type Failure, failure } from '@warder/base'
import { type JoinRequest, joinParts } from '@warder/crypto'
import type { Principal } from '@warder/server'
import type { Change, Database, Seal } from '@warder/storage'
import type { VoteRule } from './approval-policy.ts'
import { requireVoteCredential } from './approvals.ts'
import { readBlocks } from './block-store.ts'
import { isWaiting, readWaitingCredentials } from './credential-wait-store.ts'
import {
  type Activation,
  activationChange,
  type Ceremony,
  ceremonyChange,
  findCeremony,
} from './officer-store.ts'
import type { Officers } from './officers.ts'

/** A part of a split key, as the ceremony uses it. */
export interface Share extends Omit<JoinRequest, 'parts'> {
  /** Owner at this moment. */
  readonly owner: string
  /** The key that was split. */
  readonly source: string | undefined
  readonly part: JoinRequest['parts'][number]
}

export interface CeremonyServices {
  readonly db: Database
  readonly seal: Seal
  readonly officers: Officers
  /** With which credentials officers hold a ceremony. */
  readonly approvals: VoteRule
}

/** The user who takes a step, and the method of the credential. */
type Participant = Pick<Principal, 'name' | 'method'>

/** SHA-256 of a ceremony key, with which the joined shares are compared. */
function hashCeremonyKey(key: Uint8Array): Buffer {
  return createHash('sha256').update(key).digest()
}

/**
 * Records a key that is split among the officers who are listed now.
 * @param threshold number of shares that restore the key
 * @throws failure('forbidden') for a credential that may not vote
 */
export async function beginCeremony(
  { db, seal, officers, approvals }: CeremonyServices,
  {
    id,
    key,
    threshold,
    by,
  }: { readonly id: string; readonly key: Uint8Array; readonly threshold: number; readonly by: Participant },
  now: number,
): Promise<Change> {
  await requireVoteCredential(db, approvals, by, now)
  const { voteWith } = approvals
  const digest = hashCeremonyKey(key).toString('base64url')
  const listed = [...officers.listed]
  const ceremony = { id, digest, threshold, officers: listed, createdBy: by.name, begunAt: now, voteWith }
  return ceremonyChange(seal, ceremony, now)
}

/**
 * Checks the shares to which the caller has access and activates the caller as an officer. The shares must belong to
 * one ceremony and to distinct listed owners, reach the threshold, include one of another officer, and join to the key
 * that was split. The key is in memory only during this check.
 * @returns changes to commit; the commit fails when this ceremony activated the caller before
 * @throws failure('forbidden'): without a reason for callers who are not listed, with one for officers
 */
export async function activateByShares(
  services: CeremonyServices,
  participant: Participant,
  shares: readonly Share[],
  now: number,
): Promise<{ readonly activation: Activation; readonly changes: readonly Change[] }> {
  const { db, seal, officers, approvals } = services
  const { name: caller } = participant
  if (!officers.listed.has(caller)) throw failure('forbidden')
  await requireVoteCredential(db, approvals, participant, now)
  if (!officers.requireCeremony)
    throw failure('crypto_failure', 'The settings alone name the officers: ceremonies are not used.')
  const [first] = shares
  if (first?.source === undefined) throw ceremonyFailure('These are not shares of a ceremony.')
  if (shares.some(({ source }) => source !== first.source))
    throw ceremonyFailure('The shares are of different ceremonies.')
  const ceremony = await findCeremony(db, seal, first.source)
  if (ceremony === undefined) throw ceremonyFailure('These are not shares of a ceremony.')
  const { begunAt = now } = ceremony
  if (now >= begunAt + officers.validityMs)
    throw ceremonyFailure('The ceremony has expired (ceremony_validity): begin a new one.')
  requireOwners(shares, ceremony, officers, caller)
  requireSameCredentials(ceremony, approvals)
  await requireOwnCredentials(services, ceremony, participant, shares)
  await requireNoneBlocked(db, shares)
  requireKey(shares, ceremony, first)
  const activation = {
    user: caller,
    ceremony: ceremony.id,
    participants: shares.map(({ owner }) => owner).sort(),
    activatedAt: now,
    until: now + officers.validityMs,
  }
  return { activation, changes: [activationChange(seal, activation)] }
}

/** @throws failure('forbidden') */
function requireOwners(
  shares: readonly Share[],
  { threshold, officers: then }: Ceremony,
  { listed, quorum }: Officers,
  caller: string,
): void {
  const owners = new Set(shares.map(({ owner }) => owner))
  if (owners.size !== shares.length) throw ceremonyFailure('Two shares have the same owner.')
  for (const { owner, part } of shares) {
    if (!listed.has(owner)) throw ceremonyFailure(`${owner} is not a crypto officer.`)
    if (then[part.identifier - 1] !== owner)
      throw ceremonyFailure(`A share no longer belongs to the officer who received it.`)
  }
  const needed = Math.max(threshold, quorum)
  if (shares.length < needed) throw ceremonyFailure(`The ceremony requires the shares of ${needed} officers.`)
  if (![...owners].some((owner) => owner !== caller))
    throw ceremonyFailure('At least one share must be from another officer.')
}

/**
 * Officers may have granted their shares with any credential that could vote by the settings at that time.
 * @throws failure('forbidden') if fewer kinds of credentials may vote now
 */
function requireSameCredentials({ voteWith: then = [] }: Ceremony, { voteWith }: VoteRule): void {
  if (voteWith.length === 0) return
  if (then.length === 0 || !then.every((method) => voteWith.includes(method)))
    throw ceremonyFailure('approvals.vote_with was changed after the ceremony began: begin a new one.')
}

/**
 * Requires that shares and grants belong to the same users who had these names when the ceremony began. If only
 * personal credentials may vote, a credential that an administrator set may not take part.
 * @throws failure('forbidden') if a credential of one of them was set since then, or was in its waiting period then
 */
async function requireOwnCredentials(
  { db, approvals }: CeremonyServices,
  { begunAt = 0 }: Ceremony,
  { name: caller, method }: Participant,
  shares: readonly Share[],
): Promise<void> {
  if (approvals.voteWith.length > 0) return
  const setCredentials = await readWaitingCredentials(db)
  const others = shares.map(({ owner }) => owner).filter((owner) => owner !== caller)
  const isSet = (user: string, by?: string): boolean =>
    isWaiting(approvals, by, setCredentials.get(user), begunAt)
  const found = isSet(caller, method) ? caller : others.find((owner) => isSet(owner))
  if (found !== undefined)
    throw ceremonyFailure(
      `An administrator set a credential of ${found}, which was not yet valid for decisions when the ceremony began (approvals.credential_wait): begin a new one.`,
    )
}

/** A blocked user's shares activate no officer, even if granted before the block. @throws failure('forbidden') */
async function requireNoneBlocked(db: Database, shares: readonly Share[]): Promise<void> {
  const blocked = (await readBlocks(db))?.value
  const found = shares.find(({ owner }) => blocked?.has(owner) === true)
  if (found !== undefined) throw ceremonyFailure(`${found.owner} is blocked.`)
}

/** @throws failure('forbidden') when the shares do not join to the key of the ceremony */
function requireKey(
  shares: readonly Share[],
  { digest }: Ceremony,
  { method, threshold, primeFieldSize, length }: Share,
): void {
  const alike = shares.every((share) => share.method === method && share.threshold === threshold)
  if (!alike) throw ceremonyFailure('The shares are not of one key.')
  let key: Buffer
  try {
    key = joinParts({ method, threshold, primeFieldSize, length, parts: shares.map(({ part }) => part) })
  } catch {
    throw ceremonyFailure('The shares do not match each other.')
  }
  try {
    if (!timingSafeEqual(hashCeremonyKey(key), Buffer.from(digest, 'base64url')))
      throw ceremonyFailure('The shares do not reconstruct the key of the ceremony.')
  } finally {
    key.fill(0)
  }
}

function ceremonyFailure(reason: string): Failure {
  return failure('forbidden', reason)
}
