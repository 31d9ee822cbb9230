import assert from 'node:assert/strict'
import { test } from 'node:test'
import { privateJwkMembers } from '@warder/base'
import { publicJwk } from '@warder/server'
import { ec, readKeySet } from '@warder/server/testing'
import { redact } from './logger.ts'

test('every private member of a JWK is hidden in the log and keeps its key out of a set', () => {
  const jwk = publicJwk(ec().publicKey)
  assert.deepEqual(redact(jwk), jwk)
  assert.equal(readKeySet({ keys: [jwk] }).length, 1)
  for (const name of ['k', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv', 'seed']) {
    assert.ok(privateJwkMembers.includes(name), name)
    assert.deepEqual(redact({ ...jwk, [name]: 'AQAB' }), { ...jwk, [name]: '[secret]' })
    assert.equal(readKeySet({ keys: [{ ...jwk, [name]: 'AQAB' }] }).length, 0, name)
  }
})
