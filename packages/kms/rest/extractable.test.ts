import assert from 'node:assert/strict'
import { constants, createPublicKey, generateKeyPairSync, publicEncrypt, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { boolean, dateTime, Enumeration, enumeration, integer, structure, Tag } from '@warder/kmip-codec'
import { attributes, type KmipClient, kmipClient, objectType, uid } from '@warder/kmip-server/testing'
import { grant } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()
const alice = kms.user('alice')
const kmip = kmipClient(alice)

const data = Buffer.from('attack at dawn').toString('base64url')
const make = async (body: object) => {
  const made = await alice.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}
const extOf = async (kid: string) => (await alice.get(`/v1/crypto/keys/${kid}`)).json.ext

/** Neither Get nor Export gives it, in clear or wrapped with a key of the owner's. */
async function keptFrom(client: KmipClient, kid: string): Promise<void> {
  const { CryptographicUsageMask: use } = Enumeration
  const wrapping = await client.do('Create', [
    objectType('SymmetricKey'),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      integer(Tag.CryptographicLength, 256),
      integer(Tag.CryptographicUsageMask, use.WrapKey),
      dateTime(Tag.ActivationDate, 1),
    ),
  ])
  const wrapped = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid(wrapping.id)]),
  ])
  for (const operation of ['Get', 'Export'] as const) {
    await client.fails(operation, [uid(kid)], 'NotExtractable')
    await client.fails(operation, [uid(kid), wrapped], 'NotExtractable')
  }
}

test('a key created or imported with ext false is exported to no user, over REST or KMIP, and usable like others', async () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const keys = [
    await make({ kty: 'oct', alg: 'A256GCM', ext: false }),
    await make({ kty: 'oct', alg: 'HS256', k: randomBytes(32).toString('base64url'), ext: false }),
    await make({ kty: 'EC', crv: 'P-256', alg: 'ES256', ext: false }),
    await make({ ...ec, ext: false }),
  ]
  for (const { kid, ext } of keys) {
    assert.equal(ext, false)
    assert.equal(await extOf(kid), false)
    await keptFrom(kmip, kid)
  }
  const [aes, hmac, pair] = keys
  const sealed = await alice.post('/v1/crypto/encrypt', { kid: aes.kid, alg: 'dir', enc: 'A256GCM', data })
  assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
  assert.equal((await alice.post('/v1/crypto/mac', { kid: hmac.kid, alg: 'HS256', data })).status, 200)
  // The private key of a pair is not exported; the public one is public.
  assert.equal((await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })).status, 200)
  assert.equal((await kmip.do('Get', [uid(pair.kid_public)])).id, pair.kid_public)
  assert.equal(await extOf(pair.kid_public), undefined)
  // A grant of every right is no way around it, and neither is a successor.
  const operation_types = ['UseKey', 'Read', 'rekey']
  await alice.post('/access/grant', { unique_identifier: aes.kid, user_id: 'bob', operation_types })
  await keptFrom(kmipClient(kms.user('bob')), aes.kid)
  const { id: successor } = await kmip.do('ReKey', [uid(aes.kid)])
  await keptFrom(kmip, successor)
  assert.equal(await extOf(successor), false)
  const records = kms.audit.filter(({ object }) => object === aes.kid)
  assert.equal(records[0]?.details?.ext, false)
})

test('KMIP locates such keys, and returns NeverExtractable', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A128GCM', ext: false })
  const found = await kmip.do('Locate', [attributes(boolean(Tag.NeverExtractable, true))])
  assert.ok(found.nodes.some(({ value }) => value === kid))
  const flags = async () => {
    const shown = await kmip.do('GetAttributes', [uid(kid)])
    const node = shown.nodes.find(({ tag }) => tag === Tag.Attributes)
    assert.ok(node?.type === 'Structure')
    const value = (tag: number) => node.value.find((one) => one.tag === tag)?.value
    return [Tag.Sensitive, Tag.AlwaysSensitive, Tag.Extractable, Tag.NeverExtractable].map(value)
  }
  assert.deepEqual(await flags(), [true, true, false, true])
  // The owner can lift it, but cannot hide that it was lifted; users without the right cannot lift it.
  const lift = (tag: number, value: boolean) => [uid(kid), structure(Tag.NewAttribute, [boolean(tag, value)])]
  await grant(alice, kid, 'bob', 'Read', 'UseKey')
  await kmipClient(kms.user('bob')).fails('SetAttribute', lift(Tag.Extractable, true), 'PermissionDenied')
  assert.deepEqual(await flags(), [true, true, false, true])
  await kmip.do('SetAttribute', lift(Tag.Extractable, true))
  assert.equal(await extOf(kid), false)
  await kmip.do('SetAttribute', lift(Tag.Sensitive, false))
  assert.equal(await extOf(kid), true)
  await kmip.do('SetAttribute', lift(Tag.Extractable, false))
  await kmip.do('SetAttribute', lift(Tag.Sensitive, true))
  assert.deepEqual(await flags(), [true, false, false, false])
})

test('a content key that is unwrapped with ext false is not exported either', async () => {
  const rsa = await make({ kty: 'RSA', alg: 'RSA-OAEP-256' })
  const { public_jwk } = (await alice.get(`/v1/crypto/keys/${rsa.kid_public}`)).json
  const key = createPublicKey({ key: public_jwk, format: 'jwk' })
  const header = JSON.stringify({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: rsa.kid })
  const wrapped = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const body = {
    protected: Buffer.from(header).toString('base64url'),
    encrypted_key: publicEncrypt(wrapped, randomBytes(32)).toString('base64url'),
  }
  const kept = (await alice.post('/v1/crypto/keys/unwrap', { ...body, ext: false })).json
  assert.equal(kept.ext, false)
  await keptFrom(kmip, kept.kid)
  const open = (await alice.post('/v1/crypto/keys/unwrap', body)).json
  assert.equal('ext' in open, false)
  assert.equal((await kmip.do('Get', [uid(open.kid)])).id, open.kid)
})

test('without ext, or with true as browsers write it, the owner can export the key over KMIP; other values are refused', async () => {
  for (const ext of [undefined, true]) {
    const made = await make({ kty: 'oct', alg: 'A256GCM', ext })
    assert.equal(made.ext, ext)
    assert.equal(await extOf(made.kid), true)
    assert.equal((await kmip.do('Get', [uid(made.kid)])).id, made.kid)
  }
  for (const ext of ['false', 0, [false]]) {
    const { status, json } = await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', ext })
    assert.deepEqual([status, json.error], [400, 'bad_request'], JSON.stringify(ext))
  }
})
