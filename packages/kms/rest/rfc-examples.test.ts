import assert from 'node:assert/strict'
import { createCipheriv, createPublicKey, verify as verifySignature } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { thumbprint } from '@warder/server'
import { startSharedKms } from '../testing/start.ts'
import { storeKeyAs } from '../testing/store-key.ts'

// The examples of RFC 7515, 7516, 7520, 7638 and 8037 through the API of the live server. The service finds keys by
// the `kid` of the protected header: examples that have one run as they are, under that id; the others give their key.

interface Example {
  readonly source: string
  readonly alg: string
  readonly enc?: string
  readonly key: Readonly<Record<string, string>> & { readonly kty: string; readonly crv?: string }
  readonly protected: string
  readonly payload: string
  readonly signature: string
  readonly plaintext: string
  readonly encrypted_key: string
  readonly iv: string
  readonly ciphertext: string
  readonly tag: string
  readonly aad?: string
}
const examples: {
  readonly jws: readonly Example[]
  readonly jwe: readonly Example[]
  readonly thumbprints: readonly {
    readonly source: string
    readonly jwk: Record<string, string>
    readonly thumbprint: string
  }[]
} = JSON.parse(readFileSync(new URL('../../crypto/jose/rfc-examples.json', import.meta.url), 'utf8'))

const kms = await startSharedKms()
const alice = kms.user('alice')

const readHeader = (example: Example): { readonly kid?: string; readonly alg?: string } =>
  example.protected === '' ? {} : JSON.parse(Buffer.from(example.protected, 'base64url').toString())

const post = async (verb: string, body: object) => {
  const answer = await alice.post(`/v1/crypto/${verb}`, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

/** Stores the example's key under an id of its choice. RFC 7520 uses one key with several algorithms. */
function storeAs(id: string, { key, alg, enc }: Example): Promise<void> {
  return storeKeyAs(kms, id, 'alice', key, alg === 'dir' ? enc : alg, false)
}

const signatures = examples.jws.filter(({ alg }) => !alg.startsWith('HS'))

for (const example of signatures) {
  const { source, alg, key, protected: header, payload, signature } = example
  const { kid, alg: named } = readHeader(example)
  if (kid !== undefined && named !== undefined) {
    test(`${source} (${alg}): the example verifies as it stands, and not when it is changed`, async () => {
      await storeAs(kid, example)
      assert.deepEqual(await post('verify', { protected: header, data: payload, signature }), {
        kid,
        valid: true,
      })
      const other = `${payload.slice(0, -4)}AAAA`
      assert.deepEqual(await post('verify', { protected: header, data: other, signature }), {
        kid,
        valid: false,
      })
    })
  } else {
    test(`${source} (${alg}): without a kid it gets 400; other code verifies the signatures of its key with the public key`, async () => {
      const refused = await alice.post('/v1/crypto/verify', { protected: header, data: payload, signature })
      assert.deepEqual([refused.status, refused.json.error], [400, 'bad_request'])
      const made = await post('keys', { ...key, alg })
      const signed = await post('sign', { kid: made.kid, alg, data: payload })
      const { d: _, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...open } = key
      const input = Buffer.from(`${signed.protected}.${payload}`)
      const publicKey = createPublicKey({ key: open, format: 'jwk' })
      const bytes = Buffer.from(signed.signature, 'base64url')
      const hash = alg === 'EdDSA' ? null : `sha${alg.slice(2)}`
      assert.ok(verifySignature(hash, input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, bytes))
      assert.deepEqual(await post('verify', { ...signed, data: payload }), { kid: made.kid, valid: true })
    })
  }
}

for (const { source, alg, key, protected: header, payload, signature } of examples.jws.filter(({ alg }) =>
  alg.startsWith('HS'),
)) {
  test(`${source} (${alg}): the MAC over the signing input is the example's signature`, async () => {
    const { kid } = await post('keys', { ...key, alg })
    const data = Buffer.from(`${header}.${payload}`).toString('base64url')
    assert.deepEqual(await post('mac', { kid, alg, data }), { kid, mac: signature })
    assert.deepEqual(await post('mac', { kid, alg, data, mac: signature }), { kid, valid: true })
    assert.deepEqual(await post('mac', { kid, alg, data, mac: `${signature.slice(0, -4)}AAAA` }), {
      kid,
      valid: false,
    })
  })
}

for (const example of examples.jwe) {
  const {
    source,
    alg,
    enc = '',
    key,
    plaintext,
    protected: header,
    encrypted_key,
    iv,
    ciphertext,
    tag,
    aad,
  } = example
  const { kid, alg: named } = readHeader(example)
  const sealed = { protected: header, encrypted_key, iv, ciphertext, tag, ...(aad !== undefined && { aad }) }
  if (kid !== undefined && named === alg) {
    test(`${source} (${alg}, ${enc}): the example opens as it stands`, async () => {
      await storeAs(kid, example)
      const opened = await post('decrypt', sealed)
      assert.deepEqual([opened.kid, Buffer.from(opened.data, 'base64url').toString()], [kid, plaintext])
    })
  } else if (alg === 'dir') {
    test(`${source} (${alg}, ${enc}): its key, iv and plaintext under a header that names the key`, async () => {
      const refused = await alice.post('/v1/crypto/decrypt', { ...sealed, encrypted_key: '' })
      // The content key of another algorithm, or no kid: told apart by what is wrong first.
      assert.ok([400, 422].includes(refused.status), refused.text)
      const made = await post('keys', { ...key, alg: enc })
      assert.equal(
        (await post('decrypt', sealUnder(key.k ?? '', enc, made.kid, plaintext, iv))).data,
        b64(plaintext),
      )
    })
  } else {
    test(`${source} (${alg}, ${enc}): without a kid it is 400; its wrapped key is taken in and is the one that sealed it`, async () => {
      assert.equal((await alice.post('/v1/crypto/decrypt', sealed)).status, 400)
      const rsa = await post('keys', { ...key, alg })
      const named = b64(JSON.stringify({ alg, enc, kid: rsa.kid }))
      const taken = await post('keys/unwrap', { protected: named, encrypted_key })
      // RFC 7516 A.1.2: the content key.
      const cek = Buffer.from([
        177, 161, 244, 128, 84, 143, 225, 115, 63, 180, 3, 255, 107, 154, 212, 246, 138, 7, 110, 91, 112, 46,
        34, 105, 47, 130, 203, 46, 122, 234, 64, 252,
      ])
      const mine = sealUnder(cek.toString('base64url'), enc, taken.kid, plaintext, iv)
      assert.equal((await post('decrypt', mine)).data, b64(plaintext))
    })
  }
}

const b64 = (text: string): string => Buffer.from(text).toString('base64url')

/** RFC 7516 §5.1 by other code: a flattened JWE with `dir`. */
function sealUnder(k: string, enc: string, kid: string, plaintext: string, iv: string) {
  const header = b64(JSON.stringify({ alg: 'dir', enc, kid }))
  const bits = Number(enc.slice(1, 4))
  const cipher = createCipheriv(
    `aes-${bits}-gcm` as 'aes-256-gcm',
    Buffer.from(k, 'base64url'),
    Buffer.from(iv, 'base64url'),
  )
  cipher.setAAD(Buffer.from(header))
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]).toString('base64url')
  return { protected: header, iv, ciphertext, tag: cipher.getAuthTag().toString('base64url') }
}

for (const { source, jwk, thumbprint: expected } of examples.thumbprints) {
  test(`${source}: the thumbprint of the public JWK that the service shows of such a key`, async () => {
    assert.equal(thumbprint(jwk), expected)
    const example = signatures.find(({ key }) => key.kty === jwk.kty)
    assert.ok(example)
    const { kid } = await post('keys', { ...example.key, alg: example.alg })
    const { public_jwk: shown } = (await alice.get(`/v1/crypto/keys/${kid}`)).json
    const { d: _, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...open } = example.key
    assert.equal(thumbprint(shown), thumbprint(open))
  })
}
