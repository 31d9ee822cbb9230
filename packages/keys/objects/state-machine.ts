import { failure } from '@warder/base'

/** KMIP 2.1 §4.57: the states of a managed object. */
export const states = [
  'PreActive',
  'Active',
  'Deactivated',
  'Compromised',
  'Destroyed',
  'Destroyed_Compromised',
] as const
export type State = (typeof states)[number]

/** The part of an object that its life cycle reads and changes. Times in Unix milliseconds. */
export interface LifeCycle {
  readonly state: State
  readonly activationAt: number | undefined
  readonly deactivationAt: number | undefined
  readonly compromisedAt: number | undefined
  readonly destroyedAt: number | undefined
}

/** Event in the life of an object; time itself is not an event: see `stateAt`. */
export type LifeCycleEvent = 'activate' | 'deactivate' | 'compromise' | 'destroy'

/** KMIP 2.1 §4.57, figure of the states. All other transitions are refused. */
const transitions: Readonly<Record<LifeCycleEvent, Partial<Record<State, State>>>> = {
  activate: { PreActive: 'Active' },
  deactivate: { Active: 'Deactivated' },
  compromise: {
    PreActive: 'Compromised',
    Active: 'Compromised',
    Deactivated: 'Compromised',
    Destroyed: 'Destroyed_Compromised',
  },
  destroy: { PreActive: 'Destroyed', Deactivated: 'Destroyed', Compromised: 'Destroyed_Compromised' },
}

/**
 * The state at `now`: dates that have passed take effect by themselves (transitions 4 and 6), both of them if both have
 * passed. A stored state may therefore be older than the true one, never newer.
 */
export function stateAt(
  cycle: Pick<LifeCycle, 'state' | 'activationAt' | 'deactivationAt'>,
  now: number,
): State {
  let state = cycle.state
  if (state === 'PreActive' && cycle.activationAt !== undefined && cycle.activationAt <= now) state = 'Active'
  if (state === 'Active' && cycle.deactivationAt !== undefined && cycle.deactivationAt <= now) {
    state = 'Deactivated'
  }
  return state
}

/**
 * The life cycle after an event at `now`, with its date set.
 * @throws failure('crypto_failure') when the state does not allow it
 */
export function transition(cycle: LifeCycle, event: LifeCycleEvent, now: number): LifeCycle {
  const before = stateAt(cycle, now)
  const state = transitions[event][before]
  if (state === undefined)
    throw failure('crypto_failure', `A key that is ${before} does not permit this change.`)
  const next: LifeCycle = { ...cycle, state }
  switch (event) {
    case 'activate':
      return { ...next, activationAt: now }
    case 'deactivate':
      return { ...next, deactivationAt: now }
    case 'compromise':
      return { ...next, compromisedAt: now }
    case 'destroy':
      return { ...next, destroyedAt: now }
  }
}

/** Cryptography that protects new data needs Active (SP 800-57 part 1 §7); reading back is allowed longer. */
export function mayProtect(state: State): boolean {
  return state === 'Active'
}

/** Whether the state permits decrypting, unwrapping and verifying. */
export function mayProcess(state: State): boolean {
  return state === 'Active' || state === 'Deactivated' || state === 'Compromised'
}

/** State of an object after its pending destruction was executed. */
export type DestructionManner =
  /** The object is removed completely (REST). */
  | 'remove'
  /** Its material is removed, its attributes stay (KMIP 2.1 §6.1.15). */
  | 'destroy'

/** A destruction that a user requested and that is pending. */
export interface PendingDestruction {
  /** Unix milliseconds. */
  readonly askedAt: number
  /** The user who requested it; their rights were checked at that time. */
  readonly by: string
  readonly manner: DestructionManner
  /** Min milliseconds of running time of the service (`running-time-store.ts`) at which it is executed. */
  readonly afterRunMs: number
  /** Notices sent so far: 0 none, 1 that it is pending, 2 that it is near. */
  readonly announced: 0 | 1 | 2
}

/** Takes an object out of use, in any state, until a user undoes it. Unix milliseconds. */
export interface Withholding {
  /** Set while the object is disabled. */
  readonly disabledAt: number | undefined
  /** The moment before which its destruction is not carried out; set while one waits. */
  readonly destructionAt: number | undefined
  readonly destruction: PendingDestruction | undefined
}

/** Why an object cannot be used at all and its material is not returned to any caller. */
export type Withheld = 'awaits destruction' | 'archived' | 'disabled'

/** undefined: the object is not withheld. Destroyed objects do not count as withheld. */
export function withheld({
  archivedAt,
  disabledAt,
  destructionAt,
  destroyedAt,
}: Withholding & {
  readonly archivedAt: number | undefined
  readonly destroyedAt: number | undefined
}): Withheld | undefined {
  if (destroyedAt !== undefined) return undefined
  if (destructionAt !== undefined) return 'awaits destruction'
  if (archivedAt !== undefined) return 'archived'
  return disabledAt === undefined ? undefined : 'disabled'
}

/** One sentence for the caller about each. */
export const withheldSentences: Readonly<Record<Withheld, string>> = {
  'awaits destruction': 'The destruction of the key is pending: it cannot be used unless it is restored.',
  archived: 'The key is archived: recover it first.',
  disabled: 'The key is disabled: it cannot be used until it is enabled.',
}
