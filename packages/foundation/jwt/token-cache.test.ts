import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldClock, testTime } from './fixtures/tokens.ts'
import { createTokenCache } from './token-cache.ts'

test('a token is remembered until it expires, to the second', () => {
  const clock = heldClock()
  const cache = createTokenCache<string>({ capacity: 10, clock })
  cache.put('token', 'alice', testTime + 60)
  assert.equal(cache.get('token'), 'alice')
  clock.advance(59)
  assert.equal(cache.get('token'), 'alice')
  clock.advance(1)
  assert.equal(cache.get('token'), undefined)
  assert.equal(cache.size, 0, 'what expired is not kept')
})

test('a token that differs in one character is another token', () => {
  const cache = createTokenCache<string>({ capacity: 10, clock: heldClock() })
  cache.put('a.b.c', 'alice', testTime + 60)
  for (const other of ['a.b.d', 'a.b.c ', 'a.b.', '', 'A.b.c']) assert.equal(cache.get(other), undefined)
})

test('an entry that expired already, or at no time, is never given back', () => {
  const cache = createTokenCache<string>({ capacity: 10, clock: heldClock() })
  for (const time of [testTime, 0, -1, Number.NaN]) {
    cache.put('token', 'alice', time)
    assert.equal(cache.get('token'), undefined, String(time))
  }
})

test('the cache never grows over its capacity: the oldest goes', () => {
  const cache = createTokenCache<number>({ capacity: 3, clock: heldClock() })
  for (let index = 0; index < 100; index += 1) {
    cache.put(`token ${index}`, index, testTime + 60)
    assert.ok(cache.size <= 3)
  }
  assert.deepEqual(
    [96, 97, 98, 99].map((index) => cache.get(`token ${index}`)),
    [undefined, 97, 98, 99],
  )
})

test('putting a token again takes no other token away', () => {
  const cache = createTokenCache<string>({ capacity: 2, clock: heldClock() })
  cache.put('a', 'first', testTime + 60)
  cache.put('b', 'other', testTime + 60)
  cache.put('a', 'second', testTime + 60)
  assert.deepEqual([cache.get('a'), cache.get('b')], ['second', 'other'])
  cache.put('a', 'second', testTime + 60)
  assert.deepEqual([cache.get('a'), cache.get('b')], ['second', 'other'])
  cache.put('c', 'third', testTime + 60)
  assert.deepEqual([cache.get('a'), cache.get('b')], ['second', undefined], 'b is the oldest now')
})
