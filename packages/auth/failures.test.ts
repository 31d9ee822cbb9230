import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startAuth } from './testing/start.ts'
import { createAttempts, createFailureCounter, removeOldFailures } from './throttle.ts'

describe('counters of failures', () => {
  it('add up concurrent failures and demand 1, 2, 4 … seconds, at most a quarter of an hour', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const counter = createFailureCounter(auth.db, Buffer.alloc(32))
    const waits: number[] = []
    for (let count = 1; count <= 20; count++) {
      await counter.count(7, 1000)
      waits.push((await counter.state(7, 1000)).waitSeconds)
    }
    assert.deepEqual(waits.slice(0, 10), [0, 0, 0, 0, 1, 2, 4, 8, 16, 32])
    assert.equal(Math.max(...waits), 900)
    await Promise.all(Array.from({ length: 40 }, () => counter.count(8, 1000)))
    assert.equal((await counter.state(8, 1000)).failures, 40)
  })

  it('do not demand longer waits when the clock is set back, and expire when it jumps ahead', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const counter = createFailureCounter(auth.db, Buffer.alloc(32))
    const now = 1_000_000
    for (let count = 0; count < 6; count++) await counter.count(7, now)
    assert.equal((await counter.state(7, now)).waitSeconds, 2)
    assert.equal((await counter.state(7, now - 86_400)).waitSeconds, 2)
    assert.equal((await counter.state(7, now - 86_399)).waitSeconds, 1, 'and it passes')
    assert.deepEqual(await counter.state(7, now - 86_398), { failures: 6, waitSeconds: 0 })
    await counter.count(7, now - 86_398)
    assert.deepEqual(await counter.state(7, now - 86_398), { failures: 7, waitSeconds: 4 })
    assert.deepEqual(await counter.state(7, now + 86_400), { failures: 0, waitSeconds: 0 })
  })

  it('are swept a thousand rows at a time after they expire', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const counter = createFailureCounter(auth.db, Buffer.alloc(32))
    await Promise.all(Array.from({ length: 1500 }, (_, slot) => counter.count(slot, 1000)))
    await counter.count(5000, 5000)
    const sizes: number[] = []
    await removeOldFailures(async (changes) => {
      const results = await auth.db.commit(changes)
      sizes.push(...results.map(({ changes: rows }) => rows))
      return results
    }, 1000 + 3601)
    assert.deepEqual(sizes, [1000, 500])
    assert.equal((await counter.state(5000, 5000)).failures, 1)
  })

  it('are assigned to slots by a secret key', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) =>
      createFailureCounter(auth.db, key),
    )
    const slots = ['a', 'b', 'c', 'd'].map((name) => one?.findSlot('r', name, '192.0.2.1'))
    assert.equal(new Set(slots).size, 4)
    assert.notDeepEqual(
      ['a', 'b', 'c', 'd'].map((name) => other?.findSlot('r', name, '192.0.2.1')),
      slots,
    )
    assert.notEqual(
      one?.findSlot('ra', 'b', ''),
      one?.findSlot('r', 'ab', ''),
      'parts of the slot key are separated',
    )
  })
})

describe('the limiter of attempts', () => {
  const idle = { state: async () => ({ failures: 0, waitSeconds: 0 }) }

  it('admits five attempts of a name at a time, in their order, whatever their outcome', async () => {
    const attempts = createAttempts(idle as never, () => 0, 1)
    let running = 0
    let most = 0
    const order: number[] = []
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) =>
        attempts.run('a', 1, async () => {
          running++
          most = Math.max(most, running)
          order.push(index)
          await new Promise((resolve) => setImmediate(resolve))
          running--
          if (index % 3 === 0) throw new Error('wrong')
        }),
      ),
    )
    assert.equal(most, 5)
    assert.deepEqual(
      order,
      Array.from({ length: 30 }, (_, index) => index),
    )
    assert.equal(results.filter(({ status }) => status === 'rejected').length, 10)
  })

  it('admits the same number of attempts with several workers, at least one for each', async () => {
    for (const [workers, expected] of [
      [2, 4],
      [5, 5],
      [8, 8],
    ] as const) {
      const gates = Array.from({ length: workers }, () => createAttempts(idle as never, () => 0, workers))
      let running = 0
      let most = 0
      const attempt = async (): Promise<void> => {
        running++
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running--
      }
      await Promise.all(gates.flatMap((gate) => Array.from({ length: 6 }, () => gate.run('a', 1, attempt))))
      assert.equal(most, expected, `${workers} workers`)
    }
  })

  it('limits the waiting attempts in total', async () => {
    const attempts = createAttempts(idle as never, () => 0, 1)
    let open = (): void => {}
    const held = new Promise<void>((resolve) => {
      open = resolve
    })
    const running = Array.from({ length: 5 + 256 }, (_, index) =>
      attempts.run(`client${Math.floor(index / 60)}`, 1, () => held),
    )
    await assert.rejects(
      attempts.run('another', 1, () => held),
      { kind: 'overloaded' },
    )
    const other = attempts.run('another', 2, async () => 'another name')
    assert.equal(await other, 'another name')
    open()
    await Promise.all(running)
    assert.equal(await attempts.run('a', 1, async () => 'again'), 'again')
  })

  it('limits the waiting attempts per client, so that others can wait', async () => {
    const attempts = createAttempts(idle as never, () => 0, 1)
    let open = (): void => {}
    const held = new Promise<void>((resolve) => {
      open = resolve
    })
    const flood = Array.from({ length: 5 + 64 }, () => attempts.run('a', 1, () => held))
    await assert.rejects(
      attempts.run('a', 1, () => held),
      { kind: 'overloaded' },
    )
    const other = attempts.run('b', 1, async () => 'another client')
    open()
    await Promise.all(flood)
    assert.equal(await other, 'another client')
  })
})
