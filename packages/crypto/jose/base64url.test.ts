import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase64Url, encodeBase64Url } from './base64url.ts'

test('property: any bytes round-trip through base64url', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.deepEqual(new Uint8Array(decodeBase64Url(encodeBase64Url(bytes), 'data')), bytes)
    }),
  )
})

test('padding, the other alphabet, spaces, spare bits and lone characters are refused', () => {
  for (const text of ['AA==', '+/+/', 'AA AA', 'AAAA\n', 'AB', 'AAB', 'A', 'AAAAA', 'é', 'AA\0A'])
    assert.throws(() => decodeBase64Url(text, 'data'), { kind: 'bad_request' }, text)
})
