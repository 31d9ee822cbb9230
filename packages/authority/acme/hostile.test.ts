import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '@warder/base'
import fc from 'fast-check'
import { readJwsBody, readSigningKey, requireSignature } from './jws.ts'
import { accountKey, signed } from './testing/signer.ts'

/** Reads, and verifies with the key that the header brings, as the first request of a client. */
function read(bytes: Uint8Array): boolean {
  try {
    const jws = readJwsBody(bytes)
    requireSignature(jws, readSigningKey(jws.header.jwk).key)
    return true
  } catch (error) {
    assert.ok(error instanceof Failure, String(error))
    assert.ok(error.status < 500, error.message)
    assert.equal(typeof error.members?.type, 'string')
    return false
  }
}

const key = accountKey()
const good = Buffer.from(JSON.stringify(signed(key, { nonce: 'x', url: 'y', jwk: key.jwk }, { a: 1 })))

test('a body of which one byte is another one is refused as a client’s mistake, or is the same', () => {
  assert.ok(read(good))
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const bytes = Buffer.from(good)
      bytes[at] = (bytes[at] ?? 0) ^ change
      assert.equal(read(bytes), false)
    }),
  )
})

test('whatever a body is, it is refused as a client’s mistake', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void assert.equal(read(bytes), false)))
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => void assert.equal(read(Buffer.from(text)), false)),
  )
  const member = fc.oneof(fc.string(), fc.base64String(), fc.jsonValue(), fc.constant(''))
  fc.assert(
    fc.property(fc.record({ protected: member, payload: member, signature: member }), (body) => {
      assert.equal(read(Buffer.from(JSON.stringify(body))), false)
    }),
  )
})

test('a key of whatever members is a key, or a client’s mistake', () => {
  const value = fc.oneof(fc.base64String(), fc.constantFrom('EC', 'RSA', 'OKP', 'P-256', 'Ed25519', 'AQAB'))
  const members = fc.dictionary(fc.constantFrom('kty', 'crv', 'x', 'y', 'n', 'e', 'd', 'k'), value)
  fc.assert(
    fc.property(members, (jwk) => {
      try {
        readSigningKey(jwk)
      } catch (error) {
        assert.ok(error instanceof Failure && error.status === 400, String(error))
      }
    }),
  )
})
