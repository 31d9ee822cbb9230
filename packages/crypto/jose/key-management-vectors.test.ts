import assert from 'node:assert/strict'
import { createPrivateKey, createSecretKey, generateKeyPairSync, type JsonWebKeyInput } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { failure } from '@warder/base'
import { algorithmFor, optionalAlgorithms } from '../algorithms/algorithms.ts'
import type { BackendKey } from '../backend/key-backend.ts'
import { type DescribedKey, softwareKey, toDescribedKey } from '../backend/software.ts'
import { concatKdf } from '../derivation/concat-kdf.ts'
import { importKey } from '../material/import-jwk.ts'
import { toKeySpec } from '../material/key-request.ts'
import type { KeyMaterial } from '../material/material.ts'
import { gcmUnwrapKey, gcmWrapKey, unwrapKey, wrapKey } from './aes-wrap.ts'
import { agreeWith, kemKey, type Management, receiveContentKey, sendContentKey } from './content-key.ts'
import { jweDecryptReceived, openNow } from './jwe-flattened.ts'
import { readManagementParameters } from './key-management-parameters.ts'

// Examples of the standards, by value.

const policy = { fips: false, opened: new Set(optionalAlgorithms) }
const bytes = (text: string) => Buffer.from(text, 'base64url')
const keyOf = (k: string) => softwareKey(createSecretKey(bytes(k)))
const none = {
  epk: undefined,
  apu: Buffer.alloc(0),
  apv: Buffer.alloc(0),
  iv: undefined,
  tag: undefined,
  kemct: undefined,
}

function management(alg: string, enc: string): Management {
  return {
    alg: { name: alg, algorithm: algorithmFor('other key management', alg, policy) },
    enc: { name: enc, encryption: algorithmFor('content encryption', enc, policy) },
    policy,
  }
}

function keyObjectOf(jwk: JsonWebKeyInput['key']): DescribedKey {
  const { kty, crv = '', k } = jwk
  if (k !== undefined) {
    const secret = bytes(k)
    return toDescribedKey({
      kind: 'secret',
      algorithm: 'AES',
      bits: secret.length * 8,
      key: createSecretKey(secret),
    })
  }
  const key = createPrivateKey({ key: jwk, format: 'jwk' })
  const algorithm = kty === 'OKP' ? 'X25519' : 'EC'
  return toDescribedKey({ kind: 'private', algorithm, bits: 256, curve: crv, key })
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
  const key = keyObjectOf(bob)
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

/** Keys and messages of RFC 7520; its sections with `A*CBC-HS*` give the content key instead. */
const { managedJwe } = JSON.parse(readFileSync(new URL('./rfc-examples.json', import.meta.url), 'utf8'))

for (const { source, alg, enc, key: jwk, protected: header, plaintext, ...texts } of managedJwe) {
  test(`${source} (${alg}, ${enc}): the flattened JWE is decrypted`, async () => {
    const key = keyObjectOf(jwk)
    const kinds = management(alg, enc)
    const contentKey = await receiveContentKey(
      key,
      kinds,
      readManagementParameters(header),
      bytes(texts.encrypted_key),
    )
    const sealed = {
      protected: header,
      iv: bytes(texts.iv),
      ciphertext: bytes(texts.ciphertext),
      tag: bytes(texts.tag),
      aad: undefined,
    }
    const opened = await jweDecryptReceived(openNow, contentKey, kinds.enc.encryption, sealed)
    assert.equal(opened.toString(), plaintext)
  })
}

test('RFC 7520 §5.5: ECDH-ES gives the content key of an enc with 256 bits', async () => {
  const merry = keyObjectOf({
    kty: 'EC',
    crv: 'P-256',
    x: 'Ze2loSV3wrroKUN_4zhwGhCqo3Xhu1td4QjeQ5wIVR0',
    y: 'HlLtdXARY_f55A3fnzQbPcm6hgr34Mp8p-nuzQCE0Zw',
    d: 'r_kHyZ-a06rmxM3yESK84r1otSg-aQcVStkRhA-iCM8',
  })
  const epk = {
    kty: 'EC',
    crv: 'P-256',
    x: 'mPUKT_bAWGHIhg0TpjjqVsP1rXWQu_vwVOHHtNkdYoA',
    y: '8BQAsImGeAS46fyWw5MhYfGTT0IjBpFw2SS34Dv4Irs',
  }
  const secret = await agreeWith(merry, epk, policy)
  const nobody = { partyU: Buffer.alloc(0), partyV: Buffer.alloc(0) }
  const cek = concatKdf(secret, { algorithm: 'A128CBC-HS256', bits: 256, ...nobody })
  assert.equal(cek.toString('base64url'), 'hzHdlfQIAEehb8Hrd_mFRhKsKLEzPfshfXs9l6areCc')
})

test('RFC 8037 appendix A.6: ECDH-ES with X25519', async () => {
  const bob = keyObjectOf({
    kty: 'OKP',
    crv: 'X25519',
    x: '3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08',
    d: Buffer.from('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb', 'hex').toString(
      'base64url',
    ),
  })
  const epk = { kty: 'OKP', crv: 'X25519', x: 'hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo' }
  assert.equal(
    (await agreeWith(bob, epk, policy)).toString('hex'),
    '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742',
  )
})

test('a backend failure during key agreement is not reported as a wrong token', async () => {
  const pair = generateKeyPairSync('x25519')
  const held = { agree: () => Promise.reject(failure('overloaded')) } as unknown as BackendKey
  const key = { ...keyObjectOf(pair.privateKey.export({ format: 'jwk' })), held }
  const epk = pair.publicKey.export({ format: 'jwk' }) as { kty: string; crv: string; x: string }
  await assert.rejects(agreeWith(key, epk, policy), { kind: 'overloaded' })
})

test('a key of another type or size, or the other key of a pair, is refused before its use', async () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const held = new Proxy({} as BackendKey, { get: () => assert.fail('it was used') })
  const aes = { kind: 'secret', algorithm: 'AES', bits: 128, held } as unknown as DescribedKey
  const mac = { ...aes, algorithm: 'HMAC', bits: 256 } as unknown as DescribedKey
  const open = {
    ...aes,
    kind: 'public',
    algorithm: 'EC',
    bits: 256,
    curve: 'P-256',
  } as unknown as DescribedKey
  const parameters = { ...none, iv: Buffer.alloc(12), tag: Buffer.alloc(16), kemct: Buffer.alloc(768) }
  const epk = pair.publicKey.export({ format: 'jwk' }) as { kty: string; crv: string; x: string; y: string }
  for (const [alg, key] of [
    ['A256KW', aes],
    ['A256KW', mac],
    ['A256GCMKW', mac],
    ['A192GCMKW', aes],
    ['ECDH-ES', aes],
    ['ML-KEM-512', aes],
    ['ECDH-ES+A128KW', open],
  ] as const) {
    const kinds = management(alg, 'A128GCM')
    const received = receiveContentKey(key, kinds, { ...parameters, epk }, Buffer.alloc(24))
    await assert.rejects(received, { kind: 'crypto_failure' }, alg)
    if (key === open) continue
    const publicMaterial = {} as KeyMaterial
    await assert.rejects(sendContentKey({ described: key, publicMaterial }, kinds), {
      kind: 'crypto_failure',
    })
  }
})

test('a failed unwrap yields a random key of the same length each time (RFC 7516 §11.5)', async () => {
  const kek = keyOf('GawgguFyGrWKav7AX4VKUg')
  const sealed = { wrapped: Buffer.alloc(32), iv: Buffer.alloc(12), tag: Buffer.alloc(16) }
  const keys = await Promise.all([
    unwrapKey(kek, 128, Buffer.alloc(40), 32),
    unwrapKey(kek, 128, Buffer.alloc(40), 32),
    gcmUnwrapKey(kek, 128, sealed, 32),
    gcmUnwrapKey(kek, 128, sealed, 32),
  ])
  assert.deepEqual(
    keys.map(({ length }) => length),
    [32, 32, 32, 32],
  )
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 4)
})

test('a wrapped key of another length is refused before any operation', async () => {
  const held = { decrypt: () => assert.fail('it was opened') } as unknown as BackendKey
  for (const length of [0, 8, 39, 41, 48]) {
    const another = await unwrapKey(held, 256, Buffer.alloc(length), 32)
    assert.equal(another.length, 32)
    assert.notDeepEqual(another, Buffer.alloc(32))
  }
  const sealed = { wrapped: Buffer.alloc(33), iv: Buffer.alloc(12), tag: Buffer.alloc(16) }
  assert.equal((await gcmUnwrapKey(held, 256, sealed, 32)).length, 32)
})

test('draft-ietf-jose-pqc-kem: its vectors of ML-KEM-512, direct and with AES Key Wrap', async () => {
  const vectors = JSON.parse(readFileSync(new URL('./pqc-kem.json', import.meta.url), 'utf8'))
  const spec = toKeySpec({ kty: 'AKP', alg: 'ML-KEM-512' }, policy)
  const key = toDescribedKey(await importKey(spec, { priv: bytes(vectors.priv) }))
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
