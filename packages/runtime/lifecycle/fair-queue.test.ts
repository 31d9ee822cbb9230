import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Failure } from '@warder/base'
import { createFairQueue, type QueueOwner } from './fair-queue.ts'

it('a queue runs so many at a time, lets so many wait, and refuses the rest with a time to wait', async () => {
  const queue = createFairQueue(2, 3)
  let running = 0
  let most = 0
  const order: number[] = []
  const ends: (() => void)[] = []
  const work = (index: number) => async (): Promise<number> => {
    running++
    most = Math.max(most, running)
    order.push(index)
    await new Promise<void>((resolve) => ends.push(resolve))
    running--
    if (index === 1) throw new Error('failed work gives its place on, too')
    return index
  }
  const results = Promise.allSettled(
    [0, 1, 2, 3, 4, 5].map((index) => queue.run({ client: 'a', tenant: 'r' }, work(index))),
  )
  assert.equal(queue.unfinished, 5)
  const until = async (count: number): Promise<void> => {
    while (order.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  for (let count = 2; count <= 6; count++) {
    if (count <= 5) await until(count)
    ends.shift()?.()
  }
  const settled = await results
  assert.equal(most, 2)
  assert.equal(queue.unfinished, 0)
  assert.deepEqual(order, [0, 1, 2, 3, 4])
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
  const refused = settled[5]
  assert.ok(refused?.status === 'rejected' && refused.reason instanceof Failure)
  assert.equal(refused.reason.status, 503)
  assert.equal(refused.reason.retryAfterSeconds, 2)
})

/** A queue for one at a time, with what was started, and what was refused, in this order. */
function oneAtATime(longest: number) {
  const queue = createFairQueue(1, longest)
  const started: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  const own = (text: string): QueueOwner => {
    const [client = '', tenant = ''] = text.split(' ')
    return { client, tenant }
  }
  return {
    started,
    refused,
    /** Adds work of `client tenant`, named so. */
    add(name: string): void {
      queue
        .run(own(name), () => {
          started.push(name)
          return new Promise<void>((resolve) => ends.push(resolve))
        })
        .catch(() => refused.push(name))
    },
    /** Ends what runs until nothing is left. */
    async finish(): Promise<void> {
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        const end = ends.shift()
        if (end === undefined) return
        end()
      }
    },
  }
}

const times = (count: number, name: string): string[] => Array<string>(count).fill(name)

describe('a fair queue', () => {
  it('gives clients their turns one after the other, and each client those of its tenants', async () => {
    const { add, finish, started } = oneAtATime(64)
    for (const name of [...times(6, 'a r'), 'a s', 'a s', 'b r', 'c s']) add(name)
    await finish()
    assert.deepEqual(started.slice(0, 7), ['a r', 'a r', 'b r', 'c s', 'a s', 'a r', 'a s'])
    assert.equal(started.length, 10)
  })

  it('makes room in a full queue at the expense of the client that holds most of it', async () => {
    const { add, finish, started, refused } = oneAtATime(8)
    for (let count = 0; count < 20; count++) add('a r')
    for (const name of ['b r', 'c r', 'd r', 'b r', 'b r', 'b r']) add(name)
    await finish()
    assert.equal(started.filter((name) => name !== 'a r').length, 5, 'up to an equal share')
    assert.equal(started.filter((name) => name === 'c r' || name === 'd r').length, 2)
    assert.equal(started.length, 9)
    assert.equal(refused.length, 17)
  })

  it('lets no client gain by inventing tenants', async () => {
    const { add, finish, started } = oneAtATime(8)
    add('x x')
    for (const name of times(4, 'a r')) add(name)
    for (const name of times(4, 'b r')) add(name)
    for (let count = 0; count < 50; count++) add(`a invented${count}`)
    await finish()
    assert.equal(started.filter((name) => name.startsWith('b')).length, 4)
  })

  it('makes room for another tenant where every client holds the same', async () => {
    const { add, finish, started, refused } = oneAtATime(8)
    for (let count = 0; count < 9; count++) add(`client${count} r`)
    add('late r')
    add('other s')
    await finish()
    assert.deepEqual(refused, ['late r', 'client1 r'])
    assert.ok(started.includes('other s'))
  })

  it('keeps at most as many as there are slots, and none when all are done', async () => {
    const { add, finish, started, refused } = oneAtATime(8)
    for (let count = 0; count < 2000; count++) add(`client${count % 700} r${count % 13}`)
    await finish()
    assert.equal(started.length, 9)
    assert.equal(started.length + refused.length, 2000)
  })
})
