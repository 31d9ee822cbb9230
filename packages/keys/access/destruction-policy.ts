import type { Database } from '@warder/storage'
import type { ManagedObject } from '../objects/managed-object.ts'
import { type PairMember, tagsOfPair } from '../objects/name-link-tag-store.ts'

/** Shortest and longest time that a destruction waits, in days, where it waits at all. */
const minDays = 7
export const maxDays = 30

/** Settings of waiting destruction. Days: 0, or `minDays` to `maxDays`. */
export interface DestructionSettings {
  /** Of every object. */
  readonly days: number
  readonly byTag: ReadonlyMap<string, number>
  /** By `AES`, `RSA` … */
  readonly byAlgorithm: ReadonlyMap<string, number>
}

/** How long destructions wait. */
export interface DestructionPolicy {
  /** Days until an object is destroyed: the max of all rules; 0 = at once. */
  daysOf(object: Pick<ManagedObject, 'algorithm'> & PairMember): Promise<number>
  /** Tags that decide about it: taking one away would shorten the wait. */
  keeps(tag: string): boolean
}

export function createDestructionPolicy(
  { days, byTag, byAlgorithm }: DestructionSettings,
  db: Database,
): DestructionPolicy {
  return {
    async daysOf(object) {
      const { algorithm } = object
      const least = Math.max(days, byAlgorithm.get(algorithm ?? '') ?? 0)
      if (byTag.size === 0) return least
      const tags = await tagsOfPair(db, object)
      return Math.max(least, ...tags.map((tag) => byTag.get(tag) ?? 0))
    },
    keeps: (tag) => byTag.has(tag),
  }
}

/** @returns the problem of a number of days; undefined: none */
export function daysProblem(days: number): string | undefined {
  const right = Number.isInteger(days) && (days === 0 || (days >= minDays && days <= maxDays))
  return right ? undefined : `days are 0, or ${minDays} to ${maxDays}`
}

const rule = /^(tag|alg):(.+)=(\d{1,3})$/s

/**
 * Parses rules like `tag:payments=30` and `alg:RSA=14`; of several for one name the longest applies.
 * @returns undefined for an invalid list
 */
export function readDaysBy(
  list: readonly string[],
): Pick<DestructionSettings, 'byTag' | 'byAlgorithm'> | undefined {
  const [byTag, byAlgorithm] = [new Map<string, number>(), new Map<string, number>()]
  for (const text of list) {
    const [, kind, name = '', number] = rule.exec(text) ?? []
    const days = Number(number)
    if (kind === undefined || days === 0 || daysProblem(days) !== undefined) return undefined
    const rules = kind === 'tag' ? byTag : byAlgorithm
    rules.set(name, Math.max(days, rules.get(name) ?? 0))
  }
  return { byTag, byAlgorithm }
}
