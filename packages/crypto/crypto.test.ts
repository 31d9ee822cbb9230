import assert from 'node:assert/strict'
import { test } from 'node:test'
import { algorithmFor } from './algorithms/algorithms.ts'
import { checkSignature } from './jose/jws-detached.ts'
import { gcmDecrypt, gcmEncrypt, hmacVerify, signed } from './jose/testing/jose-samples.ts'
import { hmacCompute } from './mac.ts'
import { generateEc, generateRsa, generateSecret } from './material/generate-key.ts'
import { serializeMaterial } from './material/material.ts'
import { parseMaterial, publicFromPrivate } from './testing/material.ts'

const data = Buffer.from('a message')
const aad = Buffer.from('header')

test('AES-GCM decrypts what it encrypted and refuses every changed member', () => {
  for (const bits of [128, 192, 256]) {
    const made = generateSecret('AES', bits)
    assert.ok('secret' in made)
    const key = made.secret.key
    const sealed = gcmEncrypt(key, data, aad)
    assert.deepEqual(gcmDecrypt(key, sealed, aad), data)
    for (const member of ['iv', 'ciphertext', 'tag'] as const) {
      const changed = Buffer.from(sealed[member])
      changed.writeUInt8(changed.readUInt8(0) ^ 1, 0)
      for (const bad of [changed, changed.subarray(1)])
        assert.throws(() => gcmDecrypt(key, { ...sealed, [member]: bad }, aad), {
          kind: member === 'iv' && bad.length < 12 ? 'bad_request' : 'decryption_failed',
        })
    }
    assert.throws(() => gcmDecrypt(key, sealed, data), { kind: 'decryption_failed' })
  }
})

test('ten thousand IVs of one process are all different', () => {
  const made = generateSecret('AES', 128)
  assert.ok('secret' in made)
  const key = made.secret.key
  const seen = new Set(Array.from({ length: 10_000 }, () => gcmEncrypt(key, data, aad).iv.toString('hex')))
  assert.equal(seen.size, 10_000)
})

test('ES256 and HMAC verify their own result and no other', async () => {
  const pair = await generateEc('P-256')
  assert.ok('private' in pair)
  const es256 = algorithmFor('signature', 'ES256', { fips: false })
  const signature = await signed(es256, pair.private, data)
  assert.ok(await checkSignature(es256, pair.public, data, signature))
  assert.ok(!(await checkSignature(es256, pair.public, aad, signature)))
  assert.ok(!(await checkSignature(es256, pair.public, data, signature.subarray(1))))
  const made = generateSecret('HMAC', 256)
  assert.ok('secret' in made)
  const tag = hmacCompute('sha256', made.secret.key, data)
  assert.ok(hmacVerify('sha256', made.secret.key, data, tag))
  assert.ok(!hmacVerify('sha256', made.secret.key, aad, tag))
  assert.ok(!hmacVerify('sha256', made.secret.key, data, tag.subarray(1)))
})

test('stored keys are loaded, and mismatched bytes are refused', async () => {
  for (const pair of [await generateEc('P-384'), await generateRsa(2048), generateSecret('AES', 256)]) {
    for (const material of 'secret' in pair ? [pair.secret] : [pair.private, pair.public]) {
      const bytes = serializeMaterial(material)
      assert.ok(parseMaterial(material, bytes).key.equals(material.key))
      assert.throws(() => parseMaterial({ ...material, algorithm: 'Ed25519' }, bytes), {
        kind: 'internal_error',
      })
    }
    if ('private' in pair) assert.ok(publicFromPrivate(pair.private).key.equals(pair.public.key))
  }
})
