import type { Database } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import { type PairMember, tagsOfPair } from '../objects/name-link-tag-store.ts'
import { toBearerName } from './names.ts'

/** Operations on an object that may take the approval of crypto officers. */
export const approvableOnObjects = ['destroy', 'export', 'grant'] as const
export type ApprovableOnObject = (typeof approvableOnObjects)[number]
/**
 * The same for the installation: stopping and resuming an external key store, an access key for AWS KMS, changes of
 * officers or approvals in the settings, another root key, serving a restored backup.
 */
const approvableOnAll = [
  'stop_store',
  'start_store',
  'access_key',
  'settings',
  'root_key',
  'restore_backup',
] as const
export const approvable = [...approvableOnObjects, ...approvableOnAll] as const
export type Approvable = (typeof approvable)[number]
/** Requests that officers decide: also to make one of them active, in place of the shares of a ceremony. */
export const askable = [...approvable, 'activate'] as const
export type Askable = (typeof askable)[number]

/** `approvals.credential_wait` where it is not set, also of older records. */
export const defaultCredentialWaitSeconds = 86_400

/** Settings of approvals. An empty list of tags, algorithms or owners restricts nothing. */
export interface ApprovalSettings {
  readonly operations: readonly Approvable[]
  readonly tags: readonly string[]
  readonly algorithms: readonly string[]
  readonly owners: readonly string[]
  /** How long a request can be approved, and an approved one be used. */
  readonly validitySeconds: number
  /** Methods of the credentials with which officers vote. Empty or absent, as in older records: all. */
  readonly voteWith?: readonly string[]
  /** How long a credential that an administrator set does not vote; 0: it votes at once. Absent: the default. */
  readonly credentialWaitSeconds?: number
}

type About = Pick<ManagedObject, 'type' | 'algorithm'> & PairMember

/** The operations that require approvals, and on which objects. */
export interface ApprovalPolicy {
  readonly validityMs: number
  /** Methods of the credentials with which officers vote; empty: all. */
  readonly voteWith: readonly string[]
  readonly credentialWaitMs: number
  /** Synchronous where nothing is covered. */
  covers(operation: ApprovableOnObject, object: About): Promise<boolean>
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
    takes: (operation) => operations.has(operation),
    keeps: (tag) => operations.size > 0 && tags.has(tag),
  }
}
