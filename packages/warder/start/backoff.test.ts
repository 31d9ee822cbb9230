import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RestartBackoff } from './supervisor.ts'

test('a service that ends again and again is started at once, then after 1, 2, 4 … 30 seconds, without end', () => {
  const backoff = new RestartBackoff()
  const waits = Array.from({ length: 10 }, (_, index) => {
    if (index % 2 === 0) backoff.served(index)
    return backoff.ended(index)
  })
  assert.deepEqual(waits, [0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000])
})

test('after a minute of service it is well again', () => {
  const backoff = new RestartBackoff()
  for (let count = 0; count < 5; count += 1) backoff.ended(0)
  assert.equal(backoff.serving, false)
  backoff.served(1_000)
  assert.equal(backoff.serving, true)
  assert.equal(backoff.ended(61_000), 0)
  backoff.served(61_000)
  assert.equal(backoff.ended(120_999), 1000)
})
