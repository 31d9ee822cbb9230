import assert from 'node:assert/strict'
import { createHash, createHmac, createSecretKey, generateKeyPairSync, hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import { type Derivation, deriveKey } from './derive-key.ts'
import { deriveHmacKey } from './hmac-key.ts'

const purpose = 'warder transit hmac v1'
const raw = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const made = () => deriveHmacKey(createSecretKey(raw)).export()

test('the derived HMAC key of a key is the same in every release', () => {
  const [salt, input] = [purpose, Buffer.concat([Buffer.from(`${purpose}\0`), raw])]
  const prk = createHmac('sha512', salt).update(input).digest()
  const info = `${purpose} secret`
  assert.deepEqual(made(), createHmac('sha512', prk).update(`${info}\x01`).digest(), 'RFC 5869 §2')
  assert.equal(
    createHash('sha256').update(made()).digest('hex'),
    'd0796bfc7663020762001e1551ce344cf64cda7d7bd1372b738774ba9178eee5',
  )
})

test('no derivation of KMIP with the same salt, data and length gives the HMAC key', async () => {
  const secrets = [raw, raw.subarray(0, 16)]
  for (const secret of secrets)
    for (const method of [
      'HKDF',
      'HMAC',
      'PBKDF2',
      'NIST800_108C',
      'NIST800_108F',
      'NIST800_108DPI',
    ] as const)
      for (const data of [purpose, `${purpose} secret`, `${purpose}\0`]) {
        const derivation: Derivation = {
          method,
          secret,
          algorithm: 'AES',
          agreement: undefined,
          parameters: { hashingAlgorithm: 'SHA_512' },
          initializationVector: undefined,
          derivationData: Buffer.from(data),
          salt: Buffer.from(purpose),
          iterationCount: 1,
          length: 64,
        }
        const own = deriveHmacKey(createSecretKey(secret)).export()
        assert.notDeepEqual(await deriveKey(derivation, { fips: false }), own, `${method} ${data}`)
      }
  assert.notDeepEqual(Buffer.from(hkdfSync('sha512', raw, purpose, `${purpose} secret`, 64)), made())
})

test('private keys have a derived HMAC key that does not depend on their encoding, public keys have none', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const other = generateKeyPairSync('ed25519').privateKey
  const [one, two] = [privateKey, other].map((key) => deriveHmacKey(key).export())
  assert.equal(one?.length, 64)
  assert.notDeepEqual(one, two)
  assert.deepEqual(deriveHmacKey(privateKey).export(), one)
  assert.throws(() => deriveHmacKey(publicKey), { code: 'wrong_key' })
  const { d = '' } = other.export({ format: 'jwk' })
  const sameBytes = createSecretKey(Buffer.from(d, 'base64url'))
  assert.notDeepEqual(deriveHmacKey(sameBytes).export(), two, 'the same bytes as a key of another type')
})
