import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestBatcher } from './request-batcher.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what comes in one turn is acted on, then answered, each in its order', async () => {
  const stages = new RequestBatcher()
  const seen: string[] = []
  const note = (what: string): void => void seen.push(what)
  for (const name of ['a', 'b', 'c'])
    stages.enqueue(() => {
      seen.push(`act ${name}`)
      stages.enqueueReply(() => seen.push(`reply ${name}`))
    })
  assert.deepEqual(seen, [], 'not before everything is read')
  await turn()
  assert.deepEqual(seen, ['act a', 'act b', 'act c', 'reply a', 'reply b', 'reply c'])
  stages.enqueueReply(() => note('late'))
  assert.equal(seen[6], 'late', 'who had to wait for something is answered at once')
})

test('large batches are answered in parts, and slow requests delay others only briefly', async () => {
  const stages = new RequestBatcher()
  const seen: string[] = []
  for (let index = 0; index < 100; index++)
    stages.enqueue(() => {
      seen.push('act')
      stages.enqueueReply(() => seen.push('reply'))
    })
  await turn()
  const first = seen.indexOf('reply')
  assert.ok(first >= 1 && first <= 64, String(first))
  assert.equal(seen.length, 200, 'all in one turn: nothing piles up')
  assert.equal(seen.filter((one) => one === 'reply').length, 100)

  const slow: string[] = []
  for (const name of ['a', 'b'])
    stages.enqueue(() => {
      const until = performance.now() + 3
      while (performance.now() < until);
      slow.push(`act ${name}`)
      stages.enqueueReply(() => slow.push(`reply ${name}`))
    })
  await turn()
  assert.deepEqual(slow, ['act a', 'reply a', 'act b', 'reply b'])
})

test('what would pile up while more is read is acted on and answered at once, in its order', async () => {
  const stages = new RequestBatcher()
  const seen: string[] = []
  const names = Array.from({ length: 5000 }, (_, index) => String(index))
  let waiting = 0
  let most = 0
  for (const name of names) {
    waiting++
    most = Math.max(most, waiting)
    stages.enqueue(() => {
      // One that comes while others are acted on waits behind them.
      if (name === '7') stages.enqueue(() => seen.push('between'))
      stages.enqueueReply(() => {
        waiting--
        seen.push(name)
      })
    })
  }
  assert.ok(most <= 1024, String(most))
  await turn()
  assert.deepEqual([waiting, seen.indexOf('between')], [0, 1024])
  assert.deepEqual(
    seen.filter((one) => one !== 'between'),
    names,
  )
})

test('a failing request does not affect the others of its batch', async () => {
  const stages = new RequestBatcher()
  const seen: string[] = []
  const thrown: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => thrown.push(error.message))
  try {
    stages.enqueue(() => {
      seen.push('act a')
      stages.enqueueReply(() => {
        throw new Error('reply a')
      })
    })
    stages.enqueue(() => {
      throw new Error('act b')
    })
    for (const name of ['c', 'd'])
      stages.enqueue(() => {
        seen.push(`act ${name}`)
        stages.enqueueReply(() => seen.push(`reply ${name}`))
      })
    for (let count = 0; count < 6; count++) await turn()
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  }
  assert.deepEqual(seen, ['act a', 'act c', 'act d', 'reply c', 'reply d'])
  assert.ok(thrown.length >= 1)
})
