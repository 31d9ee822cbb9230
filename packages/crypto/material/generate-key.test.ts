import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countUnfinishedGenerations, inGenerationQueue } from './generate-key.ts'

test('generations run two at a time, in order; a failure frees its slot; too many are refused with Retry-After', async () => {
  let running = 0
  let most = 0
  const order: number[] = []
  const work = (index: number) => () =>
    new Promise<number>((resolve, reject) => {
      running++
      most = Math.max(most, running)
      order.push(index)
      setImmediate(() => {
        running--
        if (index % 5 === 0) reject(new Error('no prime'))
        else resolve(index)
      })
    })
  const asked = Promise.allSettled(Array.from({ length: 70 }, (_, index) => inGenerationQueue(work(index))))
  assert.equal(countUnfinishedGenerations(), 66)
  const outcomes = await asked
  assert.deepEqual([most, countUnfinishedGenerations()], [2, 0])
  assert.deepEqual(
    order,
    Array.from({ length: 66 }, (_, index) => index),
  )
  for (const [index, outcome] of outcomes.entries()) {
    assert.equal(outcome.status, index < 66 && index % 5 !== 0 ? 'fulfilled' : 'rejected')
    if (index >= 66 && outcome.status === 'rejected') assert.equal(outcome.reason.kind, 'overloaded')
  }
  assert.equal(await inGenerationQueue(work(1)), 1)
})
