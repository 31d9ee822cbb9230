import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setBounded } from './bounded-map.ts'

test('a bounded map keeps the youngest, and what is set again is young again', () => {
  const map = new Map<string, number>()
  for (const [index, key] of ['a', 'b', 'c', 'b', 'd', 'b', 'e'].entries()) {
    setBounded(map, key, index, 3)
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
})
