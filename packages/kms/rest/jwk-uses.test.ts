import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Caller } from '../testing/client.ts'
import { type Started, startKms } from '../testing/start.ts'

type Jwk = Readonly<Record<string, unknown>>

const data = Buffer.from('some data').toString('base64url')
const oct = (bytes: number): Jwk => ({ kty: 'oct', k: randomBytes(bytes).toString('base64url') })
const exportJwk = (pair: { readonly privateKey: KeyObject }): Jwk => ({
  ...pair.privateKey.export({ format: 'jwk' }),
})
const ec = exportJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const rsa = exportJwk(generateKeyPairSync('rsa', { modulusLength: 2048 }))

describe('an imported JWK is limited to its use and key_ops (RFC 7517 §4.2, §4.3)', () => {
  let kms: Started
  let alice: Caller
  before(async () => {
    kms = await startKms()
    alice = kms.user('alice')
  })
  after(() => kms[Symbol.asyncDispose]())

  const bring = async (jwk: Jwk) => {
    const made = await alice.post('/v1/crypto/keys', jwk)
    assert.equal(made.status, 200, made.text)
    return made.json
  }
  const status = async (path: string, body: object) => (await alice.post(`/v1/crypto/${path}`, body)).status

  it('to encrypt or to decrypt, of a content encryption key', async () => {
    const secret = oct(32)
    const whole = await bring({ ...secret, alg: 'A256GCM' })
    const open = { alg: 'dir', enc: 'A256GCM', data }
    const sealed = (await alice.post('/v1/crypto/encrypt', { ...open, kid: whole.kid })).json
    const encrypts = await bring({ ...secret, alg: 'A256GCM', key_ops: ['encrypt'] })
    assert.deepEqual(encrypts.key_ops, ['encrypt'])
    assert.equal(await status('encrypt', { ...open, kid: encrypts.kid }), 200)
    assert.equal(
      await status('decrypt', { ...sealed, kid: encrypts.kid }),
      400,
      'the header names another key',
    )
    const own = (await alice.post('/v1/crypto/encrypt', { ...open, kid: encrypts.kid })).json
    assert.equal(await status('decrypt', own), 422)
    const decrypts = await bring({ ...secret, alg: 'A256GCM', key_ops: ['decrypt'] })
    assert.equal(await status('encrypt', { ...open, kid: decrypts.kid }), 422)
    const shown = (await alice.get(`/v1/crypto/keys/${decrypts.kid}`)).json
    assert.deepEqual(shown.key_ops, ['decrypt'])
  })

  it('to sign or to verify, of pairs and of secrets, also in the versions that follow', async () => {
    const sign = { alg: 'ES256', data }
    const signs = await bring({ ...ec, alg: 'ES256', key_ops: ['sign'] })
    assert.deepEqual(signs.key_ops, ['sign'])
    const signed = await alice.post('/v1/crypto/sign', { ...sign, kid: signs.kid })
    assert.equal(signed.status, 200, signed.text)
    const verifies = await bring({ ...ec, alg: 'ES256', key_ops: ['verify'] })
    assert.equal(await status('sign', { ...sign, kid: verifies.kid }), 422)
    const mac = await bring({ ...oct(32), alg: 'HS256', key_ops: ['verify'] })
    assert.equal(await status('mac', { kid: mac.kid, alg: 'HS256', data }), 422)
    const use = await bring({ ...rsa, use: 'sig' })
    assert.equal(await status('sign', { kid: use.kid, alg: 'PS256', data }), 200)
    assert.equal(await status('encrypt', { kid: use.kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data }), 422)

    const both = await bring({ ...oct(32), alg: 'A256GCM', key_ops: ['decrypt'] })
    const turned = await alice.post(`/v1/crypto/keys/${both.kid}/rotate`, {})
    assert.equal(turned.status, 200, turned.text)
    assert.equal(await status('encrypt', { kid: both.kid, alg: 'dir', enc: 'A256GCM', data }), 422)
  })

  it('to wrap or unwrap, of a key that manages content keys', async () => {
    const wrap = { alg: 'A256KW', enc: 'A256GCM', data }
    const wraps = await bring({ ...oct(32), alg: 'A256KW', key_ops: ['wrapKey'] })
    const sealed = await alice.post('/v1/crypto/encrypt', { ...wrap, kid: wraps.kid })
    assert.equal(sealed.status, 200, sealed.text)
    assert.equal(await status('decrypt', sealed.json), 422)
    const agrees = await bring({
      ...ec,
      alg: 'ECDH-ES+A256KW',
      key_ops: ['deriveKey', 'deriveBits'],
      use: 'enc',
    })
    const agreed = await alice.post('/v1/crypto/encrypt', {
      kid: agrees.kid,
      alg: 'ECDH-ES+A256KW',
      enc: 'A256GCM',
      data,
    })
    assert.equal(agreed.status, 200, agreed.text)
    assert.equal(await status('decrypt', agreed.json), 200)
  })

  it('and is refused where they contradict each other, the algorithm, or are unknown', async () => {
    const cases: readonly (readonly [RegExp, Jwk])[] = [
      [/^key_ops: contradicts use/, { ...rsa, use: 'sig', key_ops: ['sign', 'decrypt'] }],
      [/^key_ops: has no use in common with the alg/, { ...ec, alg: 'ES256', key_ops: ['encrypt'] }],
      [/^key_ops: has no use in common with the kty/, { ...ec, key_ops: ['deriveKey'] }],
      [/^key_ops: has no use in common/, { ...ec, alg: 'ES256', key_ops: [] }],
      [/^use: has no use in common with the alg/, { ...ec, alg: 'ES256', use: 'enc' }],
      [/^key_ops: contains an operation twice/, { ...ec, key_ops: ['sign', 'sign'] }],
      [/^key_ops: must contain only sign/, { ...ec, key_ops: ['sign', 'read'] }],
      [/^key_ops: must contain only sign/, { ...ec, key_ops: ['constructor'] }],
      [/^use: must be sig or enc/, { ...ec, use: 'toString' }],
      [/^key_ops: is only for imported keys/, { kty: 'EC', crv: 'P-256', key_ops: ['sign'] }],
      [/^use: is only for imported keys/, { kty: 'RSA', use: 'sig' }],
      [/^kid: is assigned by the service/, { kty: 'RSA', kid: 'mine' }],
      [/tag: is not a known member; did you mean tags/, { kty: 'RSA', tag: ['prod'] }],
      [/exp: is not a known member/, { ...ec, exp: 1 }],
    ]
    for (const [sentence, jwk] of cases) {
      const answer = await alice.post('/v1/crypto/keys', jwk)
      assert.equal(answer.status, 400, String(sentence))
      assert.match(answer.json.description, sentence)
    }
    // Names that others have for the key are of no use here, and those of a whole JWK are accepted.
    await bring({ ...ec, kid: 'mine', x5c: ['x'], x5t: 'x', 'x5t#S256': 'x', x5u: 'https://a', use: null })
  })
})
