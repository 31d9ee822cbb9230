import assert from 'node:assert/strict'
import { createPrivateKey, createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { describedKey, softwareKey } from '../backend/index.ts'
import { algorithmFor, concatKdf, importKey, keySpecOf, optionalAlgorithms } from '../crypto/index.ts'
import { jweDecryptReceived, openNow } from './index.ts'
import { gcmUnwrapKey, gcmWrapKey, unwrapKey, wrapKey } from './key-management/aes-wrap.ts'
import { agreeWith } from './key-management/agreement.ts'
import { type Management, receiveContentKey } from './key-management/content-key.ts'
import { kemKey } from './key-management/kem-key.ts'

// Examples of the standards, by value.

const policy = { fips: false, opened: new Set(optionalAlgorithms) }
const bytes = (text: string) => Buffer.from(text, 'base64url')
const keyOf = (k: string) => softwareKey(createSecretKey(bytes(k)))
const none = { epk: undefined, apu: Buffer.alloc(0), apv: Buffer.alloc(0), iv: undefined, tag: undefined }

function management(alg: string, enc: string): Management {
  return {
    alg: { name: alg, algorithm: algorithmFor('other key management', alg, policy) },
    enc: { name: enc, encryption: algorithmFor('content encryption', enc, policy) },
    policy,
  }
}

test('RFC 7516 appendix A.3: AES Key Wrap with a key of 128 bits', async () => {
  const kek = keyOf('GawgguFyGrWKav7AX4VKUg')
  const cek = Buffer.from('04d31fc5549dfcfe0b649dfa3faa6ace6b7cd42d6f6b09dbc8b100f08f9c2ccf', 'hex')
  const wrapped = '6KB707dM9YTIgHtLvtgWQ8mKwboJW3of9locizkDTHzBC2IlrT1oOQ'
  assert.equal((await wrapKey(kek, 128, cek)).toString('base64url'), wrapped)
  assert.deepEqual(await unwrapKey(kek, 128, bytes(wrapped), 32), cek)
  assert.notDeepEqual(await unwrapKey(kek, 128, bytes(wrapped), 16), cek.subarray(0, 16), 'of another size')
})

test('RFC 7520 §5.7: AES-GCM key encryption with a key of 256 bits', async () => {
  const kek = keyOf('qC57l_uxcm7Nm3K-ct4GFjx8tM1U8CZ0NLBvdQstiS8')
  const cek = bytes('UWxARpat23nL9ReIj4WG3D1ee9I4r-Mv5QLuFXdy_rE')
  const sealed = {
    wrapped: bytes('lJf3HbOApxMEBkCMOoTnnABxs_CvTWUmZQ2ElLvYNok'),
    iv: bytes('KkYT0GX_2jHlfqN_'),
    tag: bytes('kfPduVQ3T3H6vnewt--ksw'),
  }
  assert.deepEqual(await gcmUnwrapKey(kek, 256, sealed, 32), cek)
  const { iv } = await gcmWrapKey(kek, 256, cek)
  assert.notDeepEqual(iv, (await gcmWrapKey(kek, 256, cek)).iv, 'each time another one')
})

test('RFC 7518 appendix C: ECDH-ES of Alice and Bob', async () => {
  const bob = {
    kty: 'EC',
    crv: 'P-256',
    x: 'weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ',
    y: 'e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck',
    d: 'VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw',
  }
  const epk = {
    kty: 'EC',
    crv: 'P-256',
    x: 'gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0',
    y: 'SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps',
  }
  const key = describedKey({
    kind: 'private',
    algorithm: 'EC',
    bits: 256,
    curve: 'P-256',
    key: createPrivateKey({ key: bob, format: 'jwk' }),
  })
  const secret = await agreeWith(key, epk, policy)
  const context = {
    algorithm: 'A128GCM',
    bits: 128,
    partyU: Buffer.from('Alice'),
    partyV: Buffer.from('Bob'),
  }
  assert.equal(concatKdf(secret, context).toString('base64url'), 'VqqN6vgjbSBcIijNcacQGg')
  const longer = concatKdf(secret, { ...context, bits: 512 })
  assert.equal(longer.length, 64)
  assert.notDeepEqual(longer.subarray(0, 16), bytes('VqqN6vgjbSBcIijNcacQGg'), 'the length is part of it')
})

test('draft-ietf-jose-pqc-kem: its vectors of ML-KEM-512, direct and with AES Key Wrap', async () => {
  const vectors = JSON.parse(readFileSync(new URL('./key-management/pqc-kem.json', import.meta.url), 'utf8'))
  const spec = keySpecOf({ kty: 'AKP', alg: 'ML-KEM-512' }, policy)
  const key = describedKey(await importKey(spec, { priv: bytes(vectors.priv) }))
  const kemct = bytes(vectors.kemct)
  const { direct, wrapped } = vectors
  const header = JSON.stringify({ alg: 'ML-KEM-512', enc: 'A128GCM', kemct: vectors.kemct })
  for (const [alg, text, vector] of [
    ['ML-KEM-512', Buffer.from(header).toString('base64url'), direct],
    ['ML-KEM-512+A128KW', wrapped.protected, wrapped],
  ] as const) {
    const kinds = management(alg, 'A128GCM')
    const parameters = { ...none, kemct }
    const contentKey = await receiveContentKey(key, kinds, parameters, bytes(vector.encrypted_key ?? ''))
    const sealed = {
      protected: text,
      iv: bytes(vector.iv),
      ciphertext: bytes(vector.ciphertext),
      tag: bytes(vector.tag),
      aad: vector.aad,
    }
    const opened = await jweDecryptReceived(openNow, contentKey, kinds.enc.encryption, sealed)
    assert.equal(opened.toString(), 'pqc kem test payload', alg)
  }
  assert.equal(kemKey(Buffer.alloc(32), 'A128GCM', 128).length, 16)
})
