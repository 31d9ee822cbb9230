import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from './caches.ts'

test('a bounded map keeps the youngest, and what is set again is young again', () => {
  const evicted: number[] = []
  const map = new BoundedMap<string, number>(3, (value) => evicted.push(value))
  for (const [index, key] of ['a', 'b', 'c', 'b', 'd', 'b', 'e'].entries()) {
    map.set(key, index)
    assert.ok(map.size <= 3)
  }
  assert.deepEqual(
    [...map],
    [
      ['d', 4],
      ['b', 5],
      ['e', 6],
    ],
  )
  assert.deepEqual(evicted, [0, 2])
})

test('a large bounded map removes a 64th of its entries at once, the oldest', () => {
  const map = new BoundedMap<number, number>(640)
  for (let key = 0; key <= 640; key++) map.set(key, key)
  assert.deepEqual([map.size, map.has(9), map.has(10), map.has(640)], [631, false, true, true])
})
