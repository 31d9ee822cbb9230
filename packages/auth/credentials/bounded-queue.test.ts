import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Failure } from '@warder/foundation/errors'
import { createBoundedQueue } from './bounded-queue.ts'

it('a bounded queue runs so many at a time, lets so many wait, and refuses the rest with a time to wait', async () => {
  const queue = createBoundedQueue(2, 3)
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
  const results = Promise.allSettled([0, 1, 2, 3, 4, 5].map((index) => queue.run(work(index))))
  const until = async (count: number): Promise<void> => {
    while (order.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  for (let count = 2; count <= 6; count++) {
    if (count <= 5) await until(count)
    ends.shift()?.()
  }
  const settled = await results
  assert.equal(most, 2)
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
