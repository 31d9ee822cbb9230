import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@warder/base/testing'
import { Autoscaler, choosePoolSize } from './autoscaler.ts'

test('small machines begin with one worker, and the setting decides where it is set', () => {
  assert.deepEqual(choosePoolSize(0, 1), { first: 1, max: 1 })
  assert.deepEqual(choosePoolSize(0, 2), { first: 1, max: 2 })
  assert.deepEqual(choosePoolSize(0, 8), { first: 8, max: 8 })
  assert.deepEqual(choosePoolSize(3, 2), { first: 3, max: 3 })
})

function createAutoscaler(loads: readonly number[]) {
  let [size, look] = [1, 0]
  const pool = {
    busy: () => loads[look++] ?? 0,
    size: () => size,
    scaleUp: async () => {
      size += 1
    },
  }
  return { autoscaler: new Autoscaler(pool, 2, quietLog), pool }
}

test('a worker is added when there is load for three looks in a row, and not beyond the most', async () => {
  const { autoscaler, pool } = createAutoscaler([1, 1, 0.1, 1, 1, 1, 1, 1, 1, 1])
  for (let look = 0; look < 5; look += 1) await autoscaler.check()
  assert.equal(pool.size(), 1, 'a burst is no load')
  await autoscaler.check()
  assert.equal(pool.size(), 2)
  for (let look = 0; look < 4; look += 1) await autoscaler.check()
  assert.equal(pool.size(), 2)
})

test('one that cannot be added is tried again after further looks', async () => {
  let [tries, size] = [0, 1]
  const scaleUp = async (): Promise<void> => {
    tries += 1
    if (tries === 1) throw new Error('no memory')
    size += 1
  }
  const autoscaler = new Autoscaler({ busy: () => 1, size: () => size, scaleUp: scaleUp }, 2, quietLog)
  for (let look = 0; look < 6; look += 1) await autoscaler.check()
  assert.deepEqual([tries, size], [2, 2])
})
