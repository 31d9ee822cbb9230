import { type AlgorithmPolicy, findRefusal, keyFacts } from '@warder/crypto'
import type { ManagedObject } from './managed-object.ts'
import {
  mayProcess,
  mayProtect,
  type State,
  stateAt,
  type Withheld,
  withheld,
  withheldSentences,
} from './state-machine.ts'

/** Bits of the cryptographic usage mask (KMIP 2.1 §12.1). */
export const usage = {
  sign: 0x1,
  verify: 0x2,
  encrypt: 0x4,
  decrypt: 0x8,
  wrapKey: 0x10,
  unwrapKey: 0x20,
  macGenerate: 0x80,
  macVerify: 0x100,
  deriveKey: 0x200,
} as const

export type Usage = keyof typeof usage

/** Bit of the mask that permits every use (KMIP 2.1 §11.12). */
export const unrestricted = 0x200000

export function allows(mask: number, use: Usage): boolean {
  return (mask & usage[use]) !== 0
}

export function usageMask(...uses: readonly Usage[]): number {
  return uses.reduce((mask, use) => mask | usage[use], 0)
}

/** Why an object may not be used; each protocol has its own words and codes for it. */
export type UseRefusal =
  | 'destroyed'
  | Withheld
  /** PreActive, or Deactivated or Compromised for a use that protects. */
  | 'state'
  /** Its ProcessStartDate has not come. */
  | 'not yet'
  /** Its ProtectStopDate has passed. */
  | 'no longer'
  /** Its usage mask has no such bit. */
  | 'usage mask'
  /** The algorithm policy of this server does not permit the key. */
  | 'policy'

export type Verdict =
  | { readonly allowed: true }
  | {
      readonly allowed: false
      readonly why: UseRefusal
      readonly state: State
      /** One sentence for the caller. */
      readonly sentence: string
    }

/** Uses that protect new data; all others process protected data (SP 800-57 part 1 §7). */
const protecting: ReadonlySet<Usage> = new Set<Usage>([
  'encrypt',
  'sign',
  'macGenerate',
  'wrapKey',
  'deriveKey',
])

const allowed: Verdict = Object.freeze({ allowed: true })

/**
 * The one rule of use: whether an object may be used for `use` at `now`. Every protocol calls it for every use and
 * translates the verdict. It checks life cycle, dates, withholding, usage mask and algorithm policy. Rights are checked
 * before (`access/`), usage limits when the use is counted (`takeUsage`), exports by `mayExport`.
 * @param now Unix milliseconds
 */
export function mayUse(object: ManagedObject, use: Usage, now: number, policy: AlgorithmPolicy): Verdict {
  const state = stateAt(object, now)
  const refuse = (why: UseRefusal, sentence: string): Verdict => ({ allowed: false, why, state, sentence })
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    return refuse('destroyed', `The key is ${state}: it cannot be used for this.`)
  const kept = withheld(object)
  if (kept !== undefined) return refuse(kept, withheldSentences[kept])
  const protects = protecting.has(use)
  if (!(protects ? mayProtect(state) : mayProcess(state)))
    return refuse('state', `The key is ${state}: it cannot be used for this.`)
  if (protects && object.protectStopAt !== undefined && now >= object.protectStopAt)
    return refuse('no longer', 'The ProtectStopDate of the key has passed: it can no longer encrypt or sign.')
  if (!protects && object.processStartAt !== undefined && now < object.processStartAt)
    return refuse('not yet', 'The ProcessStartDate of the key is in the future.')
  // KMIP 2.1 §11.12: Unrestricted permits every use. FIPS 140-3 asks for one purpose per key.
  const anything = !policy.fips && (object.usageMask & unrestricted) !== 0
  if (!anything && !allows(object.usageMask, use))
    return refuse('usage mask', 'The usage mask of the key does not permit this use.')
  const sentence = findRefusal(policy, keyFacts(object))
  return sentence === undefined ? allowed : refuse('policy', sentence)
}

/**
 * Whether the HMAC key of an object may be used: by the same rule. It is a separate key, for which the mask of a
 * cipher's or a signature's key has no bit; a key that may not protect by itself has no HMAC key (docs/adr/transit.md).
 */
export function mayUseHmacKey(
  object: ManagedObject,
  use: Extract<Usage, 'macGenerate' | 'macVerify'>,
  now: number,
  policy: AlgorithmPolicy,
): Verdict {
  const { usageMask } = object
  const protects = allows(usageMask, 'encrypt') || allows(usageMask, 'sign')
  return mayUse(protects ? { ...object, usageMask: usageMask | usage[use] } : object, use, now, policy)
}

/**
 * Remaining usage after a use that protects `bytes` of data; the caller commits it guarded by the object's version
 * before it returns the result, so that concurrent uses never exceed the limit.
 * @param first false for the later parts of one operation: limits by operations are counted with the first part
 * @returns undefined: the remaining limit is too small
 */
export function takeUsage(
  limits: NonNullable<ManagedObject['usageLimits']>,
  bytes: number,
  first: boolean,
): NonNullable<ManagedObject['usageLimits']> | undefined {
  const amount = BigInt(limits.unit === 'Byte' ? bytes : Number(first))
  if (limits.left <= 0n || limits.left < amount) return undefined
  return amount === 0n ? limits : { ...limits, left: limits.left - amount }
}
