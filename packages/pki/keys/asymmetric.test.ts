import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { privateFromPkcs8 } from './asymmetric.ts'

test('a PKCS#8 key of version 2 with the public key of another one is refused (RFC 5958 §2)', () => {
  const [one, other] = [0, 1].map(() => {
    const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
    return { d: Buffer.from(String(jwk.d), 'base64url'), x: Buffer.from(String(jwk.x), 'base64url') }
  })
  assert.ok(one && other)
  const version2 = (d: Buffer, x: Buffer): Buffer => {
    const body = Buffer.concat([
      Buffer.from('020101300506032b657004220420', 'hex'),
      d,
      Buffer.from('812100', 'hex'),
      x,
    ])
    return Buffer.concat([Buffer.from([0x30, body.length]), body])
  }
  assert.equal(privateFromPkcs8(version2(one.d, one.x), { fips: false }).algorithm, 'Ed25519')
  assert.throws(() => privateFromPkcs8(version2(one.d, other.x), { fips: false }), {
    message: 'The public key in the PKCS#8 key does not match the private key.',
  })
})
