import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceKeyHash } from './wrap-operations.ts'

test("the example of Google's reference, by value", () => {
  // echo -n "ResourceKeyDigest:my_resource:my_perimeter" | openssl sha256 -mac HMAC -macopt hexkey:f00d -binary | base64
  assert.equal(
    resourceKeyHash(Buffer.from('f00d', 'hex'), 'my_resource', 'my_perimeter'),
    'EfRLb/AKdtsPSfX+vZ/Pi8h6bmKhBTu4egOABRnEdCg=',
  )
})
