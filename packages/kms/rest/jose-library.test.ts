import assert from 'node:assert/strict'
import { createHmac, createSecretKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { FlattenedEncrypt, FlattenedSign, flattenedDecrypt, flattenedVerify, importJWK } from 'jose'
import { startSharedKms } from '../testing/start.ts'

// The jose library beside the live server, both ways, for every algorithm, with generated and with imported keys.

const kms = await startSharedKms()
const alice = kms.user('alice')

const payload = Buffer.from('attack at dawn')
const data = payload.toString('base64url')
const aad = Buffer.from('for your eyes only')
const post = async (verb: string, body: object) => {
  const answer = await alice.post(`/v1/crypto/${verb}`, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
/** One pair that the service made, for all algorithms of RSA. */
let sharedPair: Promise<{ readonly kid: string; readonly kid_public: string }> | undefined
const rsaPair = () => {
  sharedPair ??= post('keys', { kty: 'RSA' })
  return sharedPair
}
/** One import of a private key for each algorithm: the numbers of an RSA key are looked at closely each time. */
const imports = new Map<string, Promise<{ readonly kid: string; readonly kid_public: null }>>()
const importedFor = (alg: string, key: KeyObject) => {
  const known = imports.get(alg) ?? post('keys', { ...key.export({ format: 'jwk' }), alg })
  imports.set(alg, known)
  return known
}
const publicJwk = async (kid: string) => (await alice.get(`/v1/crypto/keys/${kid}`)).json.public_jwk

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pairs: Readonly<Record<string, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }>> = {
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: generateKeyPairSync('ed25519'),
  MLDSA44: generateKeyPairSync('ml-dsa-44'),
}

for (const [alg, { privateKey, publicKey }] of Object.entries(pairs)) {
  // The library knows the name of RFC 9964 only; the service takes both.
  const theirs = alg === 'MLDSA44' ? 'ML-DSA-44' : alg

  test(`${alg}: the library verifies signatures of the service, with an imported and with a generated key`, async () => {
    const jwk = privateKey.export({ format: 'jwk' })
    const imported = await importedFor(theirs, privateKey)
    assert.equal(imported.kid_public, null)
    const { kty, crv } = jwk
    const generated =
      kty === 'RSA' ? await rsaPair() : await post('keys', { kty, alg, ...(kty === 'EC' && { crv }) })
    for (const { kid, key } of [
      { kid: imported.kid, key: publicKey },
      {
        kid: generated.kid,
        key: await importJWK({ ...(await publicJwk(generated.kid_public)), alg: theirs }, theirs),
      },
    ]) {
      const signed = await post('sign', { kid, alg: theirs, data })
      const read = await flattenedVerify({ ...signed, payload: data }, key)
      assert.deepEqual(
        [read.protectedHeader?.alg, Buffer.from(read.payload).toString()],
        [theirs, String(payload)],
      )
      await assert.rejects(flattenedVerify({ ...signed, payload: `${data}AA` }, key))
    }
  })

  test(`${alg}: the service verifies signatures of the library, and no others`, async () => {
    const { kid } = await importedFor(theirs, privateKey)
    const { protected: header = '', signature } = await new FlattenedSign(payload)
      .setProtectedHeader({ alg: theirs, kid })
      .sign(privateKey)
    assert.deepEqual(await post('verify', { protected: header, data, signature }), { kid, valid: true })
    const bytes = Buffer.from(signature, 'base64url')
    const spoilt = Buffer.from(bytes)
    spoilt.writeUInt8(spoilt.readUInt8(3) ^ 1, 3)
    for (const wrong of [spoilt, bytes.subarray(1), Buffer.concat([bytes, bytes]), Buffer.alloc(0)]) {
      const answer = await post('verify', { protected: header, data, signature: wrong.toString('base64url') })
      assert.equal(answer.valid, false)
    }
  })
}

for (const enc of ['A128GCM', 'A192GCM', 'A256GCM']) {
  for (const alg of ['dir', 'RSA-OAEP', 'RSA-OAEP-256']) {
    test(`${alg} ${enc}: the library and the service decrypt each other's messages, with and without aad`, async () => {
      const secret = randomBytes(Number(enc.slice(1, 4)) / 8)
      const k = secret.toString('base64url')
      const made = alg === 'dir' ? await post('keys', { kty: 'oct', alg: enc, k }) : await rsaPair()
      const open = alg === 'dir' ? undefined : await importJWK({ ...(await publicJwk(made.kid)), alg }, alg)
      // A generated key never leaves the service: the private half for the library is an imported one.
      const imported = alg === 'dir' ? made : await importedFor(alg, rsa.privateKey)
      for (const extra of [undefined, aad]) {
        const sealed = await post('encrypt', {
          kid: imported.kid,
          alg,
          enc,
          data,
          ...(extra !== undefined && { aad: extra.toString('base64url') }),
        })
        const { encrypted_key, ...rest } = sealed
        const read = await flattenedDecrypt(
          encrypted_key === '' ? rest : sealed,
          alg === 'dir' ? secret : rsa.privateKey,
        )
        assert.equal(Buffer.from(read.plaintext).toString(), String(payload))

        const sealing = new FlattenedEncrypt(payload).setProtectedHeader({ alg, enc, kid: made.kid })
        if (extra !== undefined) sealing.setAdditionalAuthenticatedData(extra)
        const theirs = await sealing.encrypt(open ?? secret)
        assert.deepEqual(await post('decrypt', theirs), { kid: made.kid, data })
      }
    })
  }
}

for (const alg of ['HS256', 'HS384', 'HS512']) {
  test(`${alg}: the MAC of a signing input is the library's signature`, async () => {
    const secret = randomBytes(100)
    const { kid } = await post('keys', { kty: 'oct', alg, k: secret.toString('base64url') })
    const jws = await new FlattenedSign(payload).setProtectedHeader({ alg }).sign(createSecretKey(secret))
    const input = Buffer.from(`${jws.protected}.${jws.payload}`).toString('base64url')
    assert.deepEqual(await post('mac', { kid, alg, data: input }), { kid, mac: jws.signature })
    assert.deepEqual(await post('mac', { kid, alg, data: input, mac: jws.signature }), { kid, valid: true })
    const other = createHmac('sha256', randomBytes(32)).update(payload).digest('base64url')
    assert.deepEqual(await post('mac', { kid, alg, data: input, mac: other }), { kid, valid: false })
  })
}

test('the library verifies signatures of the service with only the key set', async () => {
  const { createLocalJWKSet, compactVerify } = await import('jose')
  const made = await Promise.all(
    [
      { kty: 'EC', crv: 'P-256', alg: 'ES256' },
      { kty: 'OKP', alg: 'EdDSA' },
    ].map((body) => post('keys', body)),
  )
  made.unshift(await rsaPair())
  const keySet = createLocalJWKSet((await kms.with({}).get('/.well-known/jwks.json')).json)
  for (const [index, alg] of ['RS256', 'ES256', 'EdDSA'].entries()) {
    const signed = await post('sign', { kid: made[index].kid, alg, data })
    const { protectedHeader } = await compactVerify(`${signed.protected}.${data}.${signed.signature}`, keySet)
    assert.equal(protectedHeader.kid, made[index].kid_public)
  }
})
