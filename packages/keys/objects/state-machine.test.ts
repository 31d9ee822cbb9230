import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import fc from 'fast-check'
import {
  type LifeCycle,
  type LifeCycleEvent,
  mayProcess,
  mayProtect,
  type State,
  stateAt,
  transition,
} from './state-machine.ts'

const fresh: LifeCycle = {
  state: 'PreActive',
  activationAt: undefined,
  deactivationAt: undefined,
  compromisedAt: undefined,
  destroyedAt: undefined,
}

/** KMIP 2.1 §4.57, written down a second time, by hand, as the pairs of its figure. */
const figure = new Set([
  'PreActive activate Active',
  'PreActive compromise Compromised',
  'PreActive destroy Destroyed',
  'Active deactivate Deactivated',
  'Active compromise Compromised',
  'Deactivated compromise Compromised',
  'Deactivated destroy Destroyed',
  'Compromised destroy Destroyed_Compromised',
  'Destroyed compromise Destroyed_Compromised',
])

test('property: any sequence of events follows the state diagram of the standard, and no transition is reversed', () => {
  const event = fc.constantFrom<LifeCycleEvent>('activate', 'deactivate', 'compromise', 'destroy')
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(1000)), { maxLength: 12 }), (history) => {
      let cycle = fresh
      let now = 1000
      for (const [what, later] of history) {
        now += later
        const before = stateAt(cycle, now)
        let after: LifeCycle | undefined
        try {
          after = transition(cycle, what, now)
        } catch (error) {
          assert.ok(error instanceof Failure && error.kind === 'crypto_failure')
        }
        const allowed = [...figure].some((row) => row.startsWith(`${before} ${what} `))
        assert.equal(after !== undefined, allowed, `${before} ${what}`)
        if (after === undefined) continue
        assert.ok(figure.has(`${before} ${what} ${after.state}`))
        cycle = after
      }
    }),
  )
})

test('past dates take effect without a request, both at once if both have passed', () => {
  const dated = { ...fresh, activationAt: 100, deactivationAt: 200 }
  assert.equal(stateAt(dated, 99), 'PreActive')
  assert.equal(stateAt(dated, 100), 'Active')
  assert.equal(stateAt(dated, 199), 'Active')
  assert.equal(stateAt(dated, 200), 'Deactivated')
  assert.equal(stateAt({ ...dated, state: 'Compromised' }, 200), 'Compromised')
})

test('a past date changes the permitted events', () => {
  const expired = { ...fresh, state: 'Active' as const, activationAt: 1, deactivationAt: 200 }
  assert.equal(transition(expired, 'destroy', 300).state, 'Destroyed')
  assert.throws(() => transition(expired, 'destroy', 100), { kind: 'crypto_failure' })
})

test('only an active key encrypts; deactivated and compromised ones still decrypt', () => {
  const protects: Record<State, readonly [boolean, boolean]> = {
    PreActive: [false, false],
    Active: [true, true],
    Deactivated: [false, true],
    Compromised: [false, true],
    Destroyed: [false, false],
    Destroyed_Compromised: [false, false],
  }
  for (const [state, expected] of Object.entries(protects)) {
    assert.deepEqual([mayProtect(state as State), mayProcess(state as State)], expected, state)
  }
})
