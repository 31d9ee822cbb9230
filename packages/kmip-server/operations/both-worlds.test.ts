import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startKmipFixture } from '../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../testing/nodes.ts'

const { CryptographicAlgorithm: algorithms, CryptographicUsageMask: use } = Enumeration

const { kms, alice } = await startKmipFixture()

const data = Buffer.from('attack at dawn').toString('base64url')

function secret(algorithm: keyof typeof algorithms, bits: number, mask: number): readonly TtlvNode[] {
  return [
    objectType('SymmetricKey'),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
      integer(Tag.CryptographicLength, bits),
      integer(Tag.CryptographicUsageMask, mask),
      dateTime(Tag.ActivationDate, 1),
    ),
  ]
}

test('an AES key and an HMAC key of KMIP work over REST', async () => {
  const rest = kms.user('alice')
  const aes = (await alice.do('Create', secret('AES', 256, use.Encrypt | use.Decrypt))).id
  const sealed = await rest.post('/v1/crypto/encrypt', { kid: aes, alg: 'dir', enc: 'A256GCM', data })
  assert.equal(sealed.status, 200, sealed.text)
  assert.equal((await rest.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
  const hmac = (await alice.do('Create', secret('HMAC_SHA256', 256, use.MACGenerate | use.MACVerify))).id
  assert.equal((await rest.post('/v1/crypto/mac', { kid: hmac, alg: 'HS256', data })).status, 200)
  assert.equal((await rest.post('/v1/crypto/mac', { kid: hmac, alg: 'HS512', data })).status, 422)
})

test('the replacement of a key is bound to the algorithm of the key', async () => {
  const rest = kms.user('alice')
  for (const [request, operation] of [
    [{ kty: 'oct', alg: 'A256GCM' }, 'ReKey'],
    [{ kty: 'oct', alg: 'HS256' }, 'ReKey'],
    [{ kty: 'EC', alg: 'ES256', crv: 'P-256' }, 'ReKeyKeyPair'],
    [{ kty: 'RSA', alg: 'PS256', bits: 2048 }, 'ReKeyKeyPair'],
  ] as const) {
    const { kid } = (await rest.post('/v1/crypto/keys', request)).json
    const pair = operation === 'ReKeyKeyPair'
    const made = await alice.do(operation, [
      pair ? textString(Tag.PrivateKeyUniqueIdentifier, kid) : uid(kid),
    ])
    const id = pair ? String(made.get(Tag.PrivateKeyUniqueIdentifier)) : made.id
    assert.equal((await rest.get(`/v1/crypto/keys/${id}`)).json.alg, request.alg)
    if (request.alg === 'A256GCM') {
      const other = structure(Tag.CryptographicParameters, [
        enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.CBC),
      ])
      const bytes = byteString(Tag.Data, Buffer.alloc(16))
      await alice.fails('Encrypt', [uid(id), other, bytes], 'BadCryptographicParameters')
    }
  }
})

test('REST treats the keys of a pair as separate keys after a client deleted their links', async () => {
  const rest = kms.user('alice')
  const made = (await rest.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })).json
  const [secret, open]: readonly string[] = [made.kid, made.kid_public]
  const described = async (kid: string | undefined) => (await rest.get(`/v1/crypto/keys/${kid}`)).json
  const signer = async () => {
    const signed = await rest.post('/v1/crypto/sign', { kid: secret, alg: 'ES256', data })
    const { protected: header } = signed.json
    const verified = await rest.post('/v1/crypto/verify', { ...signed.json, data })
    assert.equal(verified.json.valid, true, verified.text)
    return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
  }
  assert.equal(await signer(), open)
  const links = enumeration(Tag.AttributeReference, Tag.Link)
  await alice.do('DeleteAttribute', [uid(String(open)), links])
  assert.equal((await described(open)).linked_kid, undefined)
  assert.equal((await described(secret)).linked_kid, open)
  assert.equal(await signer(), open, 'the private half still names its public half')

  await alice.do('DeleteAttribute', [uid(String(secret)), links])
  assert.equal((await described(secret)).linked_kid, undefined)
  assert.equal(await signer(), secret, 'it stands for itself, as a private key that came alone')
  const back = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.PublicKeyLink),
    textString(Tag.LinkedObjectIdentifier, String(open)),
  ])
  await alice.do('AddAttribute', [uid(String(secret)), structure(Tag.NewAttribute, [back])])
  assert.equal((await described(secret)).linked_kid, undefined, 'what a client says makes no pair')
  assert.equal(await signer(), secret)
  const publicJwk = (await described(secret)).public_jwk
  assert.equal(publicJwk.kid, secret)

  assert.equal((await rest.del(`/v1/crypto/keys/${secret}`)).status, 204)
  assert.equal((await rest.get(`/v1/crypto/keys/${secret}`)).status, 404)
  assert.equal((await described(open)).kid, open, 'the other half is not removed with it')
})

test('a key that is bound to HS256 makes no MAC with another hash of that length over KMIP', async () => {
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).json
  const mac = (hash: keyof typeof Enumeration.HashingAlgorithm) => [
    uid(kid),
    structure(Tag.CryptographicParameters, [
      enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm[hash]),
    ]),
    byteString(Tag.Data, Buffer.from('attack at dawn')),
  ]
  await alice.do('MAC', mac('SHA_256'))
  const { status } = await alice.ask('MAC', mac('SHA3_256'))
  assert.equal(status, 'OperationFailed')
})

test('KMIP gets, revokes and destroys a key that was created over REST', async () => {
  const rest = kms.user('alice')
  const { kid } = (await rest.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  assert.equal((await alice.do('Get', [uid(kid)])).id, kid)
  const reason = enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.Superseded)
  await alice.do('Revoke', [uid(kid), structure(Tag.RevocationReason, [reason])])
  assert.equal((await rest.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).status, 422)
  await alice.do('Destroy', [uid(kid)])
  assert.equal((await rest.del(`/v1/crypto/keys/${kid}`)).status, 204)
  await alice.fails('Get', [uid(kid)], 'ObjectNotFound')
})

test('REST lists, refuses to use and deletes objects of other types, without internal errors', async () => {
  const rest = kms.user('alice')
  const common = (algorithm: keyof typeof algorithms, ...more: readonly TtlvNode[]) =>
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
      integer(Tag.CryptographicUsageMask, use.Sign | use.Verify | use.Encrypt | use.Decrypt),
      dateTime(Tag.ActivationDate, 1),
      ...more,
    ])
  const secp256k1 = structure(Tag.CryptographicDomainParameters, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.SECP256K1),
  ])
  const made = [
    (await alice.do('Create', secret('ChaCha20', 256, use.Encrypt))).id,
    (await alice.do('Create', secret('HMAC_SHA3_256', 256, use.MACGenerate))).id,
    (await alice.do('Create', [objectType('SecretData'), attributes(dateTime(Tag.ActivationDate, 1))])).id,
  ]
  for (const wish of [common('Ed448'), common('ML_KEM_768'), common('ECDSA', secp256k1)]) {
    const pair = await alice.do('CreateKeyPair', [wish])
    made.push(
      String(pair.get(Tag.PublicKeyUniqueIdentifier)),
      String(pair.get(Tag.PrivateKeyUniqueIdentifier)),
    )
  }
  for (const kid of made) {
    const statuses = [
      await rest.get(`/v1/crypto/keys/${kid}`),
      await rest.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data }),
      await rest.post('/v1/crypto/encrypt', { kid, alg: 'RSA-OAEP-256', enc: 'A256GCM', data }),
      await rest.post('/v1/crypto/sign', { kid, alg: 'ES256', data }),
      await rest.post('/v1/crypto/mac', { kid, alg: 'HS256', data }),
    ].map(({ status }) => status)
    assert.ok(
      statuses.every((status) => status < 500),
      `${kid}: ${statuses}`,
    )
  }
  assert.ok((await rest.get('/access/owned')).json.length >= made.length)
  assert.equal((await rest.get('/.well-known/jwks.json')).status, 200)
  for (const kid of made) assert.ok([204, 404].includes((await rest.del(`/v1/crypto/keys/${kid}`)).status))
})
