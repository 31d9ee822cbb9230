import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byteString,
  dateTime,
  type Enumeration,
  enumeration,
  type OperationName,
  requireType,
  Tag,
  type TtlvNode,
  valueName,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import fc from 'fast-check'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../../testing/nodes.ts'
import { revocation } from '../../testing/requests.ts'

// KMIP 2.1 §4.57 as an independent table, against the live server: for any requests in any order the server
// follows the table, returns its reasons, and changes nothing else.

let now = Date.now()
const kms = await startSharedKms({
  clock: { now: () => now, monotonic: () => performance.now() },
})

type State = keyof typeof Enumeration.State

/** A key as the model knows it. Dates in Unix seconds. */
interface Model {
  id: string
  stored: State
  activation: number | undefined
  deactivation: number | undefined
  archived: boolean
}

const second = () => Math.floor(now / 1000)

function readState({ stored, activation, deactivation }: Model): State {
  let state = stored
  if (state === 'PreActive' && activation !== undefined && activation <= second()) state = 'Active'
  if (state === 'Active' && deactivation !== undefined && deactivation <= second()) state = 'Deactivated'
  return state
}

/** A request of a client: its payload, the reason for a refusal in a state, and its effect on the model. */
interface Step {
  readonly operation: OperationName
  readonly payload: () => readonly TtlvNode[]
  readonly refused: (state: State, model: Model) => string | undefined
  readonly leadsTo?: (model: Model) => void
}

const destroyed = (state: State) => (state.startsWith('Destroyed') ? 'ObjectDestroyed' : undefined)
const only =
  (...allowed: readonly State[]) =>
  (state: State) =>
    allowed.includes(state) ? undefined : 'WrongKeyLifecycleState'
const archived = ({ archived }: Model) => (archived ? 'ObjectArchived' : undefined)
const text = byteString(Tag.Data, Buffer.from('a message'))
/** Result of Encrypt for `text` with the key of the history. */
let sealed: readonly TtlvNode[] = []

const steps: Readonly<Record<string, Step>> = {
  activate: {
    operation: 'Activate',
    payload: () => [],
    refused: only('PreActive'),
    leadsTo(model) {
      model.stored = 'Active'
      model.activation = second()
    },
  },
  supersede: {
    operation: 'Revoke',
    payload: () => [revocation('Superseded')],
    // docs/adr/key-life-cycle-and-versions.md
    refused: only('PreActive', 'Active'),
    leadsTo(model) {
      model.stored = 'Deactivated'
      model.deactivation = second()
    },
  },
  compromise: {
    operation: 'Revoke',
    payload: () => [revocation('KeyCompromise'), dateTime(Tag.CompromiseOccurrenceDate, second() - 60)],
    refused: only('PreActive', 'Active', 'Deactivated', 'Destroyed'),
    leadsTo(model) {
      model.stored = readState(model) === 'Destroyed' ? 'DestroyedCompromised' : 'Compromised'
    },
  },
  destroy: {
    operation: 'Destroy',
    payload: () => [],
    refused: (state) => destroyed(state) ?? only('PreActive', 'Deactivated', 'Compromised')(state),
    leadsTo(model) {
      model.stored = readState(model) === 'Compromised' ? 'DestroyedCompromised' : 'Destroyed'
    },
  },
  encrypt: {
    operation: 'Encrypt',
    payload: () => [text],
    refused: (state, model) => destroyed(state) ?? archived(model) ?? only('Active')(state),
  },
  decrypt: {
    operation: 'Decrypt',
    payload: () => sealed,
    refused: (state, model) =>
      destroyed(state) ?? archived(model) ?? only('Active', 'Deactivated', 'Compromised')(state),
  },
  get: {
    operation: 'Get',
    payload: () => [],
    refused: (state, model) => destroyed(state) ?? archived(model),
  },
  archive: {
    operation: 'Archive',
    payload: () => [],
    refused: (state, model) => destroyed(state) ?? archived(model),
    leadsTo(model) {
      model.archived = true
    },
  },
  recover: {
    operation: 'Recover',
    payload: () => [],
    refused: destroyed,
    leadsTo(model) {
      model.archived = false
    },
  },
}

async function isAsTheModel(alice: KmipClient, model: Model): Promise<void> {
  const { nodes } = await alice.do('GetAttributes', [
    uid(model.id),
    enumeration(Tag.AttributeReference, Tag.State),
  ])
  const shown = requireType(nodes.find(({ tag }) => tag === Tag.Attributes) ?? text, 'Structure')
  const state = shown.value.find(({ tag }) => tag === Tag.State)?.value
  assert.equal(valueName('State', Number(state)), readState(model))
}

async function newKey(
  alice: KmipClient,
  activation: number | undefined,
  deactivation: number | undefined,
): Promise<Model> {
  const dates = [
    activation === undefined ? [] : dateTime(Tag.ActivationDate, activation),
    deactivation === undefined ? [] : dateTime(Tag.DeactivationDate, deactivation),
  ].flat()
  const { id } = await alice.do('Create', [objectType('SymmetricKey'), aesAttributes(128, ...dates)])
  return { id, stored: 'PreActive', activation, deactivation, archived: false }
}

const minute = 60
const when = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined })

test('property: any order of requests leads a key only through the state transitions of the standard', async () => {
  // Only whether a decryption is allowed matters here, not its result.
  const history = fc.array(fc.oneof(fc.constantFrom(...Object.keys(steps)), fc.constant('a minute passes')), {
    minLength: 4,
    maxLength: 14,
  })
  await fc.assert(
    fc.asyncProperty(when, when, history, async (starts, ends, wishes) => {
      // Tokens run out sooner than the time that passes in all histories.
      const alice = kmipClient(kms.user('alice'))
      const begin = second()
      const activation = starts === undefined ? undefined : begin + starts * minute
      const deactivation = ends === undefined ? undefined : begin + ends * minute
      fc.pre(activation === undefined || deactivation === undefined || activation <= deactivation)
      const model = await newKey(alice, activation, deactivation)
      sealed = [text, byteString(Tag.IVCounterNonce, Buffer.alloc(12))]
      for (const wish of wishes) {
        const step = steps[wish]
        if (step === undefined) {
          now += minute * 1000
          continue
        }
        const state = readState(model)
        const refused = step.refused(state, model)
        const item = await alice.ask(step.operation, [uid(model.id), ...step.payload()])
        const allowed =
          wish === 'decrypt'
            ? [undefined, 'CryptographicFailure', 'InvalidField', 'MissingData']
            : [undefined]
        const expected = refused === undefined ? allowed : [refused]
        assert.ok(
          expected.includes(item.reason),
          `${wish} of a key that is ${state}: ${item.reason} (${item.message}), not ${expected}`,
        )
        if (refused === undefined) step.leadsTo?.(model)
        await isAsTheModel(alice, model)
      }
    }),
    { numRuns: 60, seed: 57 },
  )
})
