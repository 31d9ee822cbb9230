import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHeldClock, testTime } from './fixtures/tokens.ts'
import { createTokenCache } from './token-cache.ts'

const connection = {}

test('a token is remembered until it expires, to the second', () => {
  const clock = createHeldClock()
  const cache = createTokenCache<string>({ capacity: 10, clock })
  cache.put('token', 'alice', testTime + 60)
  assert.equal(cache.get('token', connection), 'alice')
  clock.advance(59)
  assert.equal(cache.get('token', connection), 'alice')
  clock.advance(1)
  assert.equal(cache.get('token', connection), undefined)
  assert.equal(cache.size, 0, 'what expired is not kept')
})

test('a token is believed no longer when the wall clock is set, back or forward', () => {
  for (const setSeconds of [-3600, 3600]) {
    const held = createHeldClock()
    let setMs = 0
    const clock = { now: () => held.now() + setMs, monotonic: held.monotonic }
    const cache = createTokenCache<string>({ capacity: 10, clock })
    cache.put('token', 'alice', testTime + 60)
    held.advance(59)
    assert.equal(cache.get('token', connection), 'alice')
    setMs = setSeconds * 1000
    if (setSeconds < 0) assert.equal(cache.get('token', connection), 'alice')
    held.advance(1)
    assert.equal(cache.get('token', connection), undefined)
    assert.equal(cache.size, 0)
  }
})

test('a token that differs in one character is another token', () => {
  const cache = createTokenCache<string>({ capacity: 10, clock: createHeldClock() })
  cache.put('a.b.c', 'alice', testTime + 60)
  for (const other of ['a.b.d', 'a.b.c ', 'a.b.', '', 'A.b.c'])
    assert.equal(cache.get(other, connection), undefined)
})

test('an entry that expired already, or at no time, is never given back', () => {
  const cache = createTokenCache<string>({ capacity: 10, clock: createHeldClock() })
  for (const time of [testTime, 0, -1, Number.NaN]) {
    cache.put('token', 'alice', time)
    assert.equal(cache.get('token', connection), undefined, String(time))
  }
})

test('the cache never grows over its capacity: the oldest goes', () => {
  const cache = createTokenCache<number>({ capacity: 3, clock: createHeldClock() })
  for (let index = 0; index < 100; index += 1) {
    cache.put(`token ${index}`, index, testTime + 60)
    assert.ok(cache.size <= 3)
  }
  assert.deepEqual(
    [96, 97, 98, 99].map((index) => cache.get(`token ${index}`, connection)),
    [undefined, 97, 98, 99],
  )
})

test('putting a token again takes no other token away', () => {
  const cache = createTokenCache<string>({ capacity: 2, clock: createHeldClock() })
  cache.put('a', 'first', testTime + 60)
  cache.put('b', 'other', testTime + 60)
  cache.put('a', 'second', testTime + 60)
  assert.deepEqual([cache.get('a', connection), cache.get('b', connection)], ['second', 'other'])
  cache.put('a', 'second', testTime + 60)
  assert.deepEqual([cache.get('a', connection), cache.get('b', connection)], ['second', 'other'])
  cache.put('c', 'third', testTime + 60)
  assert.deepEqual(
    [cache.get('a', connection), cache.get('b', connection)],
    ['second', undefined],
    'b is the oldest now',
  )
})

test('a connection that showed a token shows another one where any part of it differs', () => {
  const cache = createTokenCache<string>({ capacity: 9, clock: createHeldClock() })
  const token = 'head.payload.signature'
  cache.put(token, 'alice', testTime + 60)
  assert.equal(cache.get(token, connection), 'alice')
  for (let at = 0; at < token.length; at++) {
    for (const [what, other] of Object.entries({
      changed: `${token.slice(0, at)}~${token.slice(at + 1)}`,
      'with a dot': `${token.slice(0, at)}.${token.slice(at + 1)}`,
      left: token.slice(0, at) + token.slice(at + 1),
      added: `${token.slice(0, at)}a${token.slice(at)}`,
    })) {
      if (other !== token) assert.equal(cache.get(other, connection), undefined, `${what} at ${at}`)
      assert.equal(cache.get(token, connection), 'alice')
    }
  }
})

test('what a connection showed last is believed no longer than the token, and for no other token', () => {
  const clock = createHeldClock()
  const cache = createTokenCache<string>({ capacity: 2, clock })
  cache.put('token of alice', 'alice', testTime + 60)
  cache.put('token of carol', 'carol', testTime + 90)
  const shared = {}
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(cache.get('token of alice', shared), 'alice')
    for (const other of ['token of alicE', 'token of alice ', 'token of alic', '', 'tøken of alice'])
      assert.equal(cache.get(other, shared), undefined, other)
    assert.equal(cache.get('token of carol', shared), 'carol')
    assert.equal(cache.get('token of alice', {}), 'alice')
  }
  clock.advance(60)
  assert.equal(cache.get('token of alice', shared), undefined)
  assert.equal(cache.get('token of carol', shared), 'carol')
  cache.put('1', 'x', testTime + 90)
  cache.put('2', 'y', testTime + 90)
  assert.equal(cache.get('token of carol', shared), undefined, 'forgotten for the others, forgotten here')
})
