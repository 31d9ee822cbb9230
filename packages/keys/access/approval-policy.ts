import type { Database } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import { type PairMember, tagsOfPair } from '../objects/name-link-tag-store.ts'
import { toBearerName } from './names.ts'
import {
  type Approvable,
  type ApprovableOnObject,
  type ApprovalSettings,
  defaultCredentialWaitSeconds,
} from './settings.ts'

type About = Pick<ManagedObject, 'type' | 'algorithm'> & PairMember

/** The operations that require approvals, and on which objects. */
export interface ApprovalPolicy {
  readonly validityMs: number
  /** Methods of the credentials with which officers vote; empty: all. */
  readonly voteWith: readonly string[]
  readonly credentialWaitMs: number
  /** Synchronous if nothing is covered. */
  covers(operation: ApprovableOnObject, object: About): Promise<boolean>
  /** Whether the operation requires approvals on any object. */
  coversAny(operation: ApprovableOnObject): boolean
  /** Of operations on the installation, to which tags, algorithms and owners mean nothing. */
  takes(operation: Exclude<Approvable, ApprovableOnObject>): boolean
  /** Tags that decide about it: taking one away would take the object out. */
  keeps(tag: string): boolean
}

/** Types with secret material. Parts of a split key are protected by their holders. */
const secret: ReadonlySet<string> = new Set([
  'SymmetricKey',
  'PrivateKey',
  'SecretData',
  'OpaqueObject',
  'PGPKey',
])

/** Name of the algorithm in settings: KMIP has one for each hash of HMAC. */
function toFamily(algorithm = ''): string {
  return algorithm.startsWith('HMAC') ? 'HMAC' : algorithm
}

/** The credentials that may vote. */
export type VoteRule = Pick<ApprovalPolicy, 'voteWith' | 'credentialWaitMs'>

export function toVoteRule({ voteWith = [], credentialWaitSeconds }: ApprovalSettings): VoteRule {
  return { voteWith, credentialWaitMs: (credentialWaitSeconds ?? defaultCredentialWaitSeconds) * 1000 }
}

export function createApprovalPolicy(settings: ApprovalSettings, db: Database): ApprovalPolicy {
  const operations = new Set<Approvable>(settings.operations)
  const tags = new Set(settings.tags)
  const algorithms = new Set(settings.algorithms.map(toFamily))
  const owners = new Set(settings.owners)
  return {
    validityMs: settings.validitySeconds * 1000,
    ...toVoteRule(settings),
    async covers(operation, object) {
      const { type, algorithm, owner } = object
      if (!operations.has(operation)) return false
      if (operation === 'destroy' ? type === 'SplitKey' : !secret.has(type)) return false
      if (algorithms.size > 0 && !algorithms.has(toFamily(algorithm))) return false
      if (owners.size > 0 && !owners.has(toBearerName(owner))) return false
      if (tags.size === 0) return true
      return (await tagsOfPair(db, object)).some((tag) => tags.has(tag))
    },
    coversAny: (operation) => operations.has(operation),
    takes: (operation) => operations.has(operation),
    keeps: (tag) => operations.size > 0 && tags.has(tag),
  }
}
