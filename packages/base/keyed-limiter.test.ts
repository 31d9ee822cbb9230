import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedLimiter } from './keyed-limiter.ts'

test('the total and the share of one owner are limited, and a refused amount changes neither', () => {
  const limiter = new KeyedLimiter(10, 6)
  assert.equal(limiter.tryAcquire('a', 6), true)
  assert.equal(limiter.tryAcquire('a', 1), false)
  assert.equal(limiter.tryAcquire('b', 5), false)
  assert.equal(limiter.tryAcquire('b', 4), true)
  assert.deepEqual([limiter.held, limiter.owners], [10, 2])
  limiter.release('a', 2)
  assert.equal(limiter.tryAcquire('b', 3), false)
  assert.equal(limiter.tryAcquire('a', 2), true)
})

test('an amount without an owner is limited only by the total, and released owners are not remembered', () => {
  const limiter = new KeyedLimiter(10, 2)
  assert.equal(limiter.tryAcquire(undefined, 9), true)
  assert.equal(limiter.tryAcquire(undefined, 2), false)
  assert.equal(limiter.tryAcquire('a', 1), true)
  limiter.release('a', 1)
  limiter.release(undefined, 9)
  assert.deepEqual([limiter.held, limiter.owners], [0, 0])
})
