import { andThen, type MaybePromise } from '@warder/foundation/promises'
import type { Database } from '@warder/foundation/sql'
import { type ManagedObject, tagsOf } from '../keys/index.ts'
import { bearerOf } from './names.ts'

/** Operations that may take the approval of crypto officers. */
export const approvable = ['destroy', 'export', 'grant'] as const
export type Approvable = (typeof approvable)[number]

/** What the settings say. An empty list of tags, algorithms or owners restricts nothing. */
export interface ApprovalSettings {
  readonly operations: readonly Approvable[]
  readonly tags: readonly string[]
  readonly algorithms: readonly string[]
  readonly owners: readonly string[]
  /** How long a request can be approved, and an approved one be used. */
  readonly validitySeconds: number
}

type About = Pick<ManagedObject, 'id' | 'type' | 'algorithm' | 'owner'>

/** Which operations take approvals, and on which objects. */
export interface ApprovalPolicy {
  readonly validityMs: number
  /** Synchronous where nothing is covered. */
  covers(operation: Approvable, object: About): MaybePromise<boolean>
  /** Tags that decide about it: taking one away would take the object out. */
  keeps(tag: string): boolean
}

/** Whose material is worth a theft. Parts of a split key are looked after by those who have them. */
const secret: ReadonlySet<string> = new Set([
  'SymmetricKey',
  'PrivateKey',
  'SecretData',
  'OpaqueObject',
  'PGPKey',
])

export function createApprovalPolicy(settings: ApprovalSettings, db: Database): ApprovalPolicy {
  const operations = new Set<Approvable>(settings.operations)
  const [tags, algorithms, owners] = [settings.tags, settings.algorithms, settings.owners].map(
    (list) => new Set(list),
  ) as [Set<string>, Set<string>, Set<string>]
  return {
    validityMs: settings.validitySeconds * 1000,
    covers(operation, { id, type, algorithm, owner }) {
      if (!operations.has(operation)) return false
      if (operation === 'destroy' ? type === 'SplitKey' : !secret.has(type)) return false
      if (algorithms.size > 0 && !algorithms.has(algorithm ?? '')) return false
      if (owners.size > 0 && !owners.has(bearerOf(owner))) return false
      if (tags.size === 0) return true
      return andThen(tagsOf(db, id), (own) => own.some((tag) => tags.has(tag)))
    },
    keeps: (tag) => operations.size > 0 && tags.has(tag),
  }
}
