import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { byteString, Enumeration, enumeration, structure, Tag } from '@warder/kmip-codec'
import { activeSince, type FormatName, inside, keyBlock, mask, wanted } from '../../testing/keys.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const { kms, alice } = await startKmipFixture()

const message = Buffer.from('to be signed')
const { DigitalSignatureAlgorithm: scheme, HashingAlgorithm: hash } = Enumeration

function makePair(parameters: { hash: string; mgf?: string; salt: number } | undefined) {
  const make = generateKeyPairSync as unknown as (
    type: string,
    options: object,
  ) => { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
  return make('rsa-pss', {
    modulusLength: 2048,
    ...(parameters && {
      hashAlgorithm: parameters.hash,
      mgf1HashAlgorithm: parameters.mgf ?? parameters.hash,
      saltLength: parameters.salt,
    }),
  })
}

const readPrivateKey = (key: KeyObject) => [
  objectType('PrivateKey'),
  attributes(mask('Sign', 'Decrypt'), activeSince),
  structure(Tag.PrivateKey, [keyBlock('PKCS_8', key.export({ format: 'der', type: 'pkcs8' }))]),
]
const publicKeyPayload = (key: KeyObject, format: FormatName) => [
  objectType('PublicKey'),
  attributes(mask('Verify', 'Encrypt'), activeSince),
  structure(Tag.PublicKey, [keyBlock(format, key.export({ format: 'der', type: 'spki' }))]),
]
const parameters = (name: keyof typeof scheme, hashing?: keyof typeof hash) =>
  structure(Tag.CryptographicParameters, [
    enumeration(Tag.DigitalSignatureAlgorithm, scheme[name]),
    ...(hashing === undefined ? [] : [enumeration(Tag.HashingAlgorithm, hash[hashing])]),
  ])
const data = byteString(Tag.Data, message)

test('a key of id-RSASSA-PSS is registered and bound to the algorithm of its parameters', async () => {
  for (const [name, bits, alg] of [
    ['sha256', 256, 'PS256'],
    ['sha512', 512, 'PS512'],
  ] as const) {
    const { privateKey, publicKey } = makePair({ hash: name, salt: bits / 8 })
    const pss = {
      key: publicKey,
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }
    const own = parameters('RSASSA_PSS', `SHA_${bits}`)
    const { id } = await alice.do('Register', readPrivateKey(privateKey))
    const signed = await alice.do('Sign', [uid(id), own, data])
    const signature = signed.nodes.find(({ tag }) => tag === Tag.SignatureData)?.value as Uint8Array
    assert.ok(verify(name, message, pss, signature))
    for (const other of [parameters('SHA_256WithRSAEncryption'), parameters('RSASSA_PSS', 'SHA_384')])
      await alice.fails('Sign', [uid(id), other, data], 'BadCryptographicParameters')
    await alice.fails('Decrypt', [uid(id), data], 'BadCryptographicParameters')
    // REST names the same binding.
    const user = kms.user('alice')
    assert.equal((await user.get(`/v1/crypto/keys/${id}`)).json.alg, alg)
    const input = { kid: id, data: message.toString('base64url') }
    assert.equal((await user.post('/v1/crypto/sign', { ...input, alg })).status, 200)
    assert.equal((await user.post('/v1/crypto/sign', { ...input, alg: 'RS256' })).status, 422)

    for (const format of ['X_509', 'PKCS_8'] as const) {
      const made = await alice.do('Register', publicKeyPayload(publicKey, format))
      const theirs = sign(name, message, { ...pss, key: privateKey })
      const check = [uid(made.id), own, data, byteString(Tag.SignatureData, theirs)]
      const { nodes } = await alice.do('SignatureVerify', check)
      assert.equal(
        nodes.find(({ tag }) => tag === Tag.ValidityIndicator)?.value,
        Enumeration.ValidityIndicator.Valid,
      )
      await alice.fails('Encrypt', [uid(made.id), data], 'BadCryptographicParameters')
    }
    const { nodes } = await alice.do('Get', [uid(id), wanted('PKCS_1')])
    const value = inside(nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value
    assert.ok(value instanceof Uint8Array)
  }
})

test('parameters that determine no single algorithm are refused with the reason, and nothing is stored', async () => {
  const located = async () => (await alice.do('Locate', [])).nodes.length
  const count = await located()
  for (const [given, told] of [
    [undefined, /any hash/],
    [{ hash: 'sha256', salt: 64 }, /salt of 64 bytes.*do not match PS256/],
    [{ hash: 'sha256', mgf: 'sha1', salt: 20 }, /MGF1 with sha1/],
    [{ hash: 'sha224', salt: 28 }, /do not match PS256/],
  ] as const) {
    const { privateKey, publicKey } = makePair(given)
    for (const payload of [readPrivateKey(privateKey), publicKeyPayload(publicKey, 'X_509')])
      assert.match(await alice.fails('Register', payload, 'InvalidField'), told)
  }
  assert.equal(await located(), count)
})
