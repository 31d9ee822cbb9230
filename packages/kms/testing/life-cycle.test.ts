import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import {
  findObject,
  type LifeCycle,
  type LifeCycleEvent,
  lifeCycleChanges,
  type ObjectId,
  type State,
  transition,
} from '@warder/keys'
import { mayProtect, removalChanges } from '@warder/keys/testing'
import { type Database, retryOnGuard, StorageUnavailable } from '@warder/storage'
import { bothEngines, startTwoNodes } from './engines.ts'

const data = Buffer.from('attack at dawn').toString('base64url')
const events: readonly LifeCycleEvent[] = ['activate', 'deactivate', 'compromise', 'destroy']
const changesAtOnce = 1000
const attempts = 10

/** A committed change with its previous state; the version gives the order. */
interface Step {
  readonly event: LifeCycleEvent | 'remove'
  readonly from: number
  readonly before: State
  readonly after: State | undefined
}

/** State transitions of the standard, written down once more, apart from the code (KMIP 2.1 §4.57). */
const allowed: Readonly<Record<string, State>> = {
  'PreActive activate': 'Active',
  'Active deactivate': 'Deactivated',
  'PreActive compromise': 'Compromised',
  'Active compromise': 'Compromised',
  'Deactivated compromise': 'Compromised',
  'Destroyed compromise': 'Destroyed_Compromised',
  'PreActive destroy': 'Destroyed',
  'Deactivated destroy': 'Destroyed',
  'Compromised destroy': 'Destroyed_Compromised',
}

for (const engine of await bothEngines()) {
  test(`${changesAtOnce} concurrent life-cycle changes of one key, from two nodes on ${engine.name}, match one sequence of the model (K05)`, {
    skip: engine.skip,
    timeout: 60_000,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { one, other, near } = nodes
    const alice = near.user('alice')
    const aliceFar = nodes.onFar('alice')
    for (let round = 0; round < 2; round++) {
      const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
      const first = await findObject(one, kid)
      assert.ok(first)
      // The history begins where every way is open.
      const fresh = { ...first, state: 'PreActive', activationAt: undefined } as const
      await one.commit(lifeCycleChanges(one, first, fresh, Date.now()))
      const born = (await findObject(one, kid))?.version ?? 0

      const steps: Step[] = []
      let refused = 0
      let lost = 0
      /** The commits that were acknowledged before an encryption began, and whether it succeeded. */
      const uses: { readonly known: readonly Step[]; readonly status: number }[] = []

      const apply = async (db: Database, id: ObjectId, event: LifeCycleEvent | 'remove'): Promise<void> => {
        await retryOnGuard(attempts, async () => {
          const object = await findObject(db, id)
          if (object === undefined) {
            refused++
            return
          }
          if (event === 'remove') {
            await db.commit(removalChanges(db, [object], Date.now()))
            steps.push({ event, from: object.version, before: object.state, after: undefined })
            return
          }
          const cycle: LifeCycle = transition(object, event, Date.now())
          await db.commit(lifeCycleChanges(db, object, cycle, Date.now()))
          steps.push({ event, from: object.version, before: object.state, after: cycle.state })
        }).catch((error: unknown) => {
          // On a slow machine it waits too long for a connection. Had it been carried out, the history would have a gap.
          if (error instanceof StorageUnavailable) {
            lost++
            return
          }
          assert.ok(error instanceof Failure, String(error))
          if (error.kind === 'crypto_failure') refused++
          else if (error.kind === 'conflict') lost++
          else throw error
        })
      }

      const encrypt = async (index: number): Promise<void> => {
        const known = [...steps]
        const who = index % 2 === 0 ? alice : aliceFar
        const { status } = await who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
        assert.ok([200, 404, 422, 503].includes(status), String(status))
        uses.push({ known, status })
      }

      // Cheap and the same each time: which event each of them is.
      let seed = 12345 + round
      const next = (): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
        return seed
      }
      const work = Array.from({ length: changesAtOnce }, (_, index) => {
        const db = index % 2 === 0 ? one : other
        if (round === 1 && index === 700) return () => apply(db, kid, 'remove')
        if (index % 4 === 3) return () => encrypt(index)
        const event = events[next() % events.length] ?? 'activate'
        return () => apply(db, kid, event)
      })
      await Promise.all(work.map((start) => start()))

      // Every commit was made from the version that the one before it left: there was no other order.
      const history = steps.toSorted((a, b) => a.from - b.from)
      let state: State | undefined = 'PreActive'
      for (const [index, step] of history.entries()) {
        assert.equal(step.from, born + index, 'two changes were made from one version, or one was lost')
        assert.equal(step.before, state)
        state = step.event === 'remove' ? undefined : allowed[`${step.before} ${step.event}`]
        assert.equal(step.after, state, `${step.before} ${step.event}`)
      }
      const stored = await findObject(one, kid)
      assert.equal(stored?.state, state)
      assert.ok(history.length > 0 && history.length <= 4)
      const changes = changesAtOnce - uses.length
      assert.equal(history.length + refused + lost, changes)

      // A use succeeds only if the key was Active at some moment between its request and its answer.
      for (const { known, status } of uses) {
        const moments: (State | undefined)[] = [
          known.toSorted((a, b) => a.from - b.from).at(-1)?.after ?? 'PreActive',
        ]
        if (known.some(({ event }) => event === 'remove')) moments[0] = undefined
        for (const step of history) if (!known.includes(step)) moments.push(step.after)
        const couldSucceed = moments.some((one) => one !== undefined && mayProtect(one))
        if (status === 200) assert.ok(couldSucceed, `encrypted with a key that was ${moments}`)
      }
      const last = await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
      const lastFar = await aliceFar.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
      const expected = state === undefined ? 404 : mayProtect(state) ? 200 : 422
      assert.deepEqual([last.status, lastFar.status], [expected, expected])
    }
  })
}
