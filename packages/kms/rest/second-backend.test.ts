import assert from 'node:assert/strict'
import { randomBytes, X509Certificate } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type BackendKey, type KeyBackend, refuse, softwareBackend } from '@warder/crypto'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  textString,
} from '@warder/kmip-codec'
import {
  attributes,
  data,
  hashing,
  iv,
  key16,
  mode,
  oasisData,
  objectType,
  parameters,
  readBytes,
  startKmipFixture,
  uid,
} from '@warder/kmip-server/testing'
import { makeAuthorities } from '../pki/testing/pki-scene.ts'

const asked: string[] = []

/** A backend that answers later, accepts data only in one piece, and does not export keys, like a security module. */
class DistantKey implements BackendKey {
  readonly #key: BackendKey
  readonly local = undefined
  readonly parts = undefined

  constructor(key: BackendKey) {
    this.#key = key
  }

  get shape() {
    const { type, asymmetricKeyType, asymmetricKeyDetails, symmetricKeySize } = this.#key.shape
    return { type, asymmetricKeyType, asymmetricKeyDetails, symmetricKeySize } as BackendKey['shape']
  }

  get publicKey() {
    return this.#key.publicKey
  }

  async #later<T>(name: string, work: (key: BackendKey) => T): Promise<Awaited<T>> {
    asked.push(name)
    await setImmediate()
    return await work(this.#key)
  }

  encrypt: BackendKey['encrypt'] = (...input) => this.#later('encrypt', (key) => key.encrypt(...input))
  decrypt: BackendKey['decrypt'] = (...input) => this.#later('decrypt', (key) => key.decrypt(...input))
  decryptRsa: BackendKey['decryptRsa'] = (...input) =>
    this.#later('decryptRsa', (key) => key.decryptRsa(...input))
  unwrapContentKey: BackendKey['unwrapContentKey'] = (...input) =>
    this.#later('unwrapContentKey', (key) => key.unwrapContentKey(...input))
  decapsulate: BackendKey['decapsulate'] = (...input) =>
    this.#later('decapsulate', (key) => key.decapsulate(...input))
  sign: BackendKey['sign'] = (...input) => this.#later('sign', (key) => key.sign(...input))
  mac: BackendKey['mac'] = (...input) => this.#later('mac', (key) => key.mac(...input))
  openHmacKey: BackendKey['openHmacKey'] = () => {
    throw refuse('unsupported', 'The security module has no HMAC key beside a key of another type.')
  }
  derive: BackendKey['derive'] = (...input) => this.#later('derive', (key) => key.derive(...input))
  agree: BackendKey['agree'] = (...input) => this.#later('agree', (key) => key.agree(...input))
}

const distant: KeyBackend = {
  open: async (kind, material) => new DistantKey(await softwareBackend.open(kind, material)),
}

const {
  kms,
  alice: kmip,
  registerKey,
  createPair,
} = await startKmipFixture({ backend: distant, config: { transit_enabled: true } })
const alice = kms.user('alice')
beforeEach(() => void asked.splice(0))

async function created(kty: string, alg: string, more = {}): Promise<string> {
  const made = await alice.post('/v1/crypto/keys', { kty, alg, ...more })
  assert.equal(made.status, 200, made.text)
  return made.json.private_kid ?? made.json.kid
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const plain = text(Buffer.from('attack at dawn'))

test('REST encrypts, decrypts and computes MACs in the backend of the key', async () => {
  const kid = await created('oct', 'A256GCM')
  const sealed = await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: plain })
  assert.equal(sealed.status, 200, sealed.text)
  const opened = await alice.post('/v1/crypto/decrypt', sealed.json)
  assert.equal(opened.json.data, plain)
  const wrong = await alice.post('/v1/crypto/decrypt', { ...sealed.json, tag: text(randomBytes(16)) })
  assert.equal(wrong.status, 422)
  const mac = { kid: await created('oct', 'HS256'), alg: 'HS256', data: plain }
  const made = await alice.post('/v1/crypto/mac', mac)
  assert.deepEqual((await alice.post('/v1/crypto/mac', { ...mac, mac: made.json.mac })).json.valid, true)
  assert.deepEqual(asked, ['encrypt', 'decrypt', 'decrypt', 'mac', 'mac'])
})

test('transit computes HMACs of a key of type hmac in its backend, and refuses HMACs of other keys', async () => {
  const input = oasisData.toString('base64')
  for (const [type, status] of [
    ['hmac', 200],
    ['aes256-gcm96', 400],
  ] as const) {
    assert.equal((await alice.post(`/v1/transit/keys/${type}`, { type })).status, 200)
    const made = await alice.post(`/v1/transit/hmac/${type}`, { input })
    assert.equal(made.status, status, made.text)
    if (status === 400) assert.match(made.text, /security module has no HMAC key beside/)
  }
  assert.deepEqual(asked, ['mac'])
})

test('REST sends large data to the backend of the key, not to a thread', async () => {
  const kid = await created('oct', 'A256GCM')
  const large = text(randomBytes(1_500_000))
  const sealed = await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: large })
  assert.equal(sealed.status, 200, sealed.text.slice(0, 200))
  const opened = await alice.post('/v1/crypto/decrypt', sealed.json)
  assert.equal(opened.json.data === large, true)
  assert.deepEqual(asked, ['encrypt', 'decrypt'])
})

test('REST signs and unwraps content keys in the backend of the private key, and verifies locally', async () => {
  for (const [kty, alg, crv] of [
    ['EC', 'ES256', 'P-256'],
    ['RSA', 'PS256', undefined],
  ] as const) {
    asked.length = 0
    const kid = await created(kty, alg, crv === undefined ? {} : { crv })
    const signed = await alice.post('/v1/crypto/sign', { kid, alg, data: plain })
    assert.equal(signed.status, 200, signed.text)
    const verified = await alice.post('/v1/crypto/verify', { ...signed.json, data: plain })
    assert.equal(verified.json.valid, true, verified.text)
    assert.deepEqual(asked, ['sign'])
  }
  asked.length = 0
  const kid = await created('RSA', 'RSA-OAEP-256')
  const sealed = await alice.post('/v1/crypto/encrypt', {
    kid,
    alg: 'RSA-OAEP-256',
    enc: 'A256GCM',
    data: plain,
  })
  assert.equal(sealed.status, 200, sealed.text)
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data, plain)
  const { protected: header, encrypted_key } = sealed.json
  const again = await alice.post('/v1/crypto/keys/unwrap', { protected: header, encrypted_key })
  assert.equal(again.status, 200, again.text)
  assert.deepEqual(asked, ['unwrapContentKey', 'decryptRsa'])
})

test('KMIP encrypts and decrypts in the backend, whole and in parts, which are collected', async () => {
  const id = await registerKey(key16, 'AES', parameters(mode('GCM')))
  const sealed = await kmip.do('Encrypt', [uid(id), data(oasisData)])
  const tag = byteString(Tag.AuthenticatedEncryptionTag, readBytes(sealed, Tag.AuthenticatedEncryptionTag))
  const nonce = iv(readBytes(sealed, Tag.IVCounterNonce))
  const opened = await kmip.do('Decrypt', [uid(id), data(readBytes(sealed, Tag.Data)), nonce, tag])
  assert.deepEqual(readBytes(opened, Tag.Data), oasisData)
  assert.deepEqual(asked, ['encrypt', 'decrypt'])

  const first = await kmip.do('Encrypt', [uid(id), data(oasisData), boolean(Tag.InitIndicator, true)])
  const correlation = byteString(Tag.CorrelationValue, readBytes(first, Tag.CorrelationValue))
  const last = await kmip.do('Encrypt', [
    uid(id),
    data(oasisData),
    correlation,
    boolean(Tag.FinalIndicator, true),
  ])
  assert.equal(readBytes(last, Tag.Data).length, 32)
  assert.deepEqual(asked, ['encrypt', 'decrypt', 'encrypt'])
})

test('KMIP computes MACs, signs, derives and decapsulates in the backend', async () => {
  const hmac = await registerKey(randomBytes(32), 'HMAC_SHA256')
  const made = await kmip.do('MAC', [uid(hmac), data(oasisData)])
  const given = byteString(Tag.MACData, readBytes(made, Tag.MACData))
  await kmip.do('MACVerify', [uid(hmac), data(oasisData), given])
  const secret = await registerKey(randomBytes(32), 'AES')
  await kmip.do('DeriveKey', [
    objectType('SymmetricKey'),
    uid(secret),
    enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.HMAC),
    structure(Tag.DerivationParameters, [
      parameters(hashing('SHA_256')),
      byteString(Tag.DerivationData, oasisData),
    ]),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      integer(Tag.CryptographicLength, 256),
      integer(Tag.CryptographicUsageMask, Enumeration.CryptographicUsageMask.Encrypt),
    ),
  ])
  const signer = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  const signed = await kmip.do('Sign', [
    uid(signer.priv),
    parameters(
      enumeration(
        Tag.DigitalSignatureAlgorithm,
        Enumeration.DigitalSignatureAlgorithm.SHA_256WithRSAEncryption,
      ),
    ),
    data(oasisData),
  ])
  assert.equal(readBytes(signed, Tag.SignatureData).length, 256)
  const kem = await createPair('ML_KEM_768')
  const encapsulated = await kmip.do('Encrypt', [uid(kem.pub)])
  const secretData = await kmip.do('Decrypt', [
    uid(kem.priv),
    data(readBytes(encapsulated, Tag.IVCounterNonce)),
  ])
  assert.deepEqual(readBytes(secretData, Tag.Data), readBytes(encapsulated, Tag.Data))
  assert.deepEqual(asked, ['mac', 'mac', 'derive', 'sign', 'decapsulate'])
})

test('authorities sign certificates, CRLs and OCSP responses in the backend, over REST and KMIP', async () => {
  const { issuing, issue } = await makeAuthorities(alice)
  // The root and its certificate of the other, a list and a responder of both.
  assert.deepEqual(asked, Array(6).fill('sign'))
  const made = await issue({ alg: 'RS256', names: ['a.example'] })
  assert.equal(made.status, 200, made.text)
  const issuer = new X509Certificate(issuing.certificate)
  assert.ok(new X509Certificate(made.json.certificate).verify(issuer.publicKey))
  const link = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.CertificateLink),
    textString(Tag.LinkedObjectIdentifier, issuing.id),
  ])
  const { id } = await kmip.do('Certify', [
    attributes(
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.ECDSA),
      integer(Tag.CryptographicLength, 256),
      textString(Tag.CertificateSubjectCN, 'KMIP'),
      link,
    ),
  ])
  const pem = (await alice.get(`/v1/pki/certificates/${id}`)).json.certificate
  assert.ok(new X509Certificate(pem).verify(issuer.publicKey))
  assert.equal(asked.length, 8)
})
