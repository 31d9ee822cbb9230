import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromBase64Url, toBase64, toBase64Url } from './base64url.ts'

test('bytes are encoded as by Node, and decoded again', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.equal(toBase64Url(bytes), Buffer.from(bytes).toString('base64url'))
      assert.equal(toBase64(bytes), Buffer.from(bytes).toString('base64'))
      assert.deepEqual(fromBase64Url(toBase64Url(bytes)), bytes)
    }),
  )
  const large = new Uint8Array(3_000_001).fill(251)
  assert.deepEqual(fromBase64Url(toBase64Url(large)), large)
})

test('what is not base64url is refused', () => {
  for (const text of ['a', 'ab=', 'a+b/', 'a b', 'é'])
    assert.throws(() => fromBase64Url(text), TypeError, text)
})
