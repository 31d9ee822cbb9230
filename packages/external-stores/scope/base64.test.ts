import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBase64 } from './scope.ts'

test('base64 is read with and without padding, as the examples of Google have both', () => {
  assert.equal(decodeBase64('akRQtv3nr+jUhcFL6JmKzB+WzUxbkkMyW5kQsqGUAFc=', 'key', 128).length, 32)
  assert.equal(decodeBase64('akRQtv3nr+jUhcFL6JmKzB+WzUxbkkMyW5kQsqGUAFc', 'key', 128).length, 32)
})

test('other alphabets, blanks, unused bits, nothing at all and too much are refused by name', () => {
  const wrong = ['', '====', 'a', 'ab_-', 'YWJj\n', 'YWJj YWJj', 'YR==', 'YWI', 'Y=WI']
  for (const text of wrong.slice(0, -2))
    assert.throws(() => decodeBase64(text, 'key', 128), /^Failure: key: /, text)
  assert.equal(decodeBase64('YWI', 'key', 128).toString(), 'ab')
  assert.throws(() => decodeBase64('Y=WI', 'key', 128), /not base64/)
  assert.throws(() => decodeBase64(Buffer.alloc(129).toString('base64'), 'key', 128), /longer than 128 bytes/)
  assert.equal(decodeBase64(Buffer.alloc(128).toString('base64'), 'key', 128).length, 128)
})
