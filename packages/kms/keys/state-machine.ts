import { failure } from '@warder/foundation/errors'

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

/** What happens to an object; time itself is not an event: see `stateAt`. */
export type LifeCycleEvent = 'activate' | 'deactivate' | 'compromise' | 'destroy'

/** KMIP 2.1 §4.57, figure of the states. What is not here is refused. */
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
 * The state as it is at `now`: dates that have passed act by themselves (transitions 4 and 6), both of them if both
 * have. A stored state is therefore never newer than the true one, only older.
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
  if (state === undefined) throw failure('crypto_failure', `A key that is ${before} cannot be changed so.`)
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

/** Decrypting, unwrapping and verifying what was protected before. */
export function mayProcess(state: State): boolean {
  return state === 'Active' || state === 'Deactivated' || state === 'Compromised'
}
