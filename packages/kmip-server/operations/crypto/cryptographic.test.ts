import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmipClient } from '../../testing/kmip-client.ts'
import {
  algorithms,
  allCryptoUses,
  data,
  hashing,
  iv,
  key16,
  mode,
  oasisData,
  padding,
  parameters,
  readBytes,
  startKmipFixture,
  use,
} from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

let now = Date.now()
const { kms, alice, bob, activeForAnHour, registerKey, createPair } = await startKmipFixture({
  clock: { now: () => now, monotonic: () => performance.now() },
})

test('CS-BC-M-4, 10, 13: ECB, CBC and random IVs; the parameters of the key are the default', async () => {
  const id = await registerKey(key16, 'AES', parameters(mode('ECB')))
  const made = await alice.do('Encrypt', [uid(id), data(oasisData)])
  assert.equal(readBytes(made, Tag.Data).toString('hex'), 'd9bcce11b0b437b90239552df3a360c9')
  assert.equal(made.get(Tag.IVCounterNonce), undefined)
  assert.deepEqual(
    readBytes(await alice.do('Decrypt', [uid(id), data(readBytes(made, Tag.Data))]), Tag.Data),
    oasisData,
  )
  const cbc = parameters(mode('CBC'), padding('PKCS5'))
  const random = await alice.do('Encrypt', [uid(id), cbc, data(oasisData)])
  const fresh = readBytes(random, Tag.IVCounterNonce)
  assert.equal(fresh.length, 16)
  const sealed = readBytes(random, Tag.Data)
  assert.equal(await alice.fails('Decrypt', [uid(id), cbc, data(sealed)], 'InvalidMessage'), 'missing-iv')
  assert.deepEqual(
    readBytes(await alice.do('Decrypt', [uid(id), cbc, data(sealed), iv(fresh)]), Tag.Data),
    oasisData,
  )
})

test('CS-BC-M-GCM-1: tags of 16 and 12 bytes; wrong tags get CRYPTO, other lengths an error that names them', async () => {
  const id = await registerKey(Buffer.alloc(16), 'AES')
  const gcm = (tag: number) => parameters(mode('GCM'), integer(Tag.TagLength, tag))
  const nonce = iv(Buffer.alloc(12))
  const made = await alice.do('Encrypt', [uid(id), gcm(16), data(Buffer.alloc(16)), nonce])
  assert.equal(readBytes(made, Tag.Data).toString('hex'), '0388dace60b6a392f328c2b971b2fe78')
  const tag = readBytes(made, Tag.AuthenticatedEncryptionTag)
  assert.equal(tag.toString('hex'), 'ab6e47d42cec13bdf53a67b21257bddf')
  const open = (length: number, given: Uint8Array) => [
    uid(id),
    gcm(length),
    data(readBytes(made, Tag.Data)),
    nonce,
    byteString(Tag.AuthenticatedEncryptionTag, given),
  ]
  assert.deepEqual(readBytes(await alice.do('Decrypt', open(16, tag)), Tag.Data), Buffer.alloc(16))
  assert.deepEqual(
    readBytes(await alice.do('Decrypt', open(12, tag.subarray(0, 12))), Tag.Data),
    Buffer.alloc(16),
  )
  assert.equal(await alice.fails('Decrypt', open(16, Buffer.alloc(16)), 'CryptographicFailure'), 'CRYPTO')
  for (const length of [1, 32]) {
    const message = await alice.fails(
      'Encrypt',
      [uid(id), gcm(length), data(Buffer.alloc(16)), nonce],
      'GeneralFailure',
    )
    assert.equal(message, 'L_KMIPCRYPTO_random:invalid-tag-length')
  }
})

test('without parameters AES uses GCM with a server IV; before 1.4 the tag follows the ciphertext', async () => {
  const id = await registerKey(randomBytes(32), 'AES')
  const made = await alice.do('Encrypt', [uid(id), data(oasisData)])
  const nonce = readBytes(made, Tag.IVCounterNonce)
  assert.equal(nonce.length, 12)
  const old = kmipClient(kms.user('alice'), { version: '1.2' })
  const sealed = readBytes(await old.do('Encrypt', [uid(id), data(oasisData), iv(nonce)]), Tag.Data)
  assert.deepEqual(
    sealed,
    Buffer.concat([readBytes(made, Tag.Data), readBytes(made, Tag.AuthenticatedEncryptionTag)]),
  )
  assert.deepEqual(
    readBytes(await old.do('Decrypt', [uid(id), data(sealed), iv(nonce)]), Tag.Data),
    oasisData,
  )
  assert.equal(
    await old.fails('Decrypt', [uid(id), data(sealed.subarray(1)), iv(nonce)], 'CryptographicFailure'),
    'CRYPTO',
  )
  assert.equal(
    await old.fails('Decrypt', [uid(id), data(sealed.subarray(0, 3)), iv(nonce)], 'CryptographicFailure'),
    'CRYPTO',
  )
})

test('a key created over REST encrypts over KMIP, and vice versa', async () => {
  const { json } = await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const made = await alice.do('Encrypt', [uid(json.kid), data(oasisData)])
  assert.equal(readBytes(made, Tag.AuthenticatedEncryptionTag).length, 16)
  const id = await registerKey(randomBytes(32), 'AES')
  const body = { kid: id, alg: 'dir', enc: 'A256GCM', data: oasisData.toString('base64url') }
  assert.equal((await kms.user('alice').post('/v1/crypto/encrypt', body)).status, 200)
})

test('a key that REST bound to an algorithm is refused for other algorithms over KMIP', async () => {
  const made = async (request: Readonly<Record<string, unknown>>) =>
    (await kms.user('alice').post('/v1/crypto/keys', request)).json as {
      kid: string
      kid_public: string
    }
  const bound = 'BadCryptographicParameters'
  const aes = await made({ kty: 'oct', alg: 'A256GCM' })
  await alice.do('Encrypt', [uid(aes.kid), parameters(mode('GCM')), data(oasisData)])
  await alice.fails('Encrypt', [uid(aes.kid), parameters(mode('ECB')), data(oasisData)], bound)
  const rsa = await made({ kty: 'RSA', alg: 'PS256', bits: 2048 })
  await alice.do('Sign', [uid(rsa.kid), data(oasisData)])
  await alice.fails('Sign', [uid(rsa.kid), parameters(padding('PKCS1V1_5')), data(oasisData)], bound)
  await alice.fails('Sign', [uid(rsa.kid), parameters(hashing('SHA_512')), data(oasisData)], bound)
  const oaep = await made({ kty: 'RSA', alg: 'RSA-OAEP-256', bits: 2048 })
  await alice.do('Encrypt', [uid(oaep.kid_public), data(oasisData)])
  await alice.fails('Encrypt', [uid(oaep.kid_public), parameters(hashing('SHA_512')), data(oasisData)], bound)
  const hmac = await made({ kty: 'oct', alg: 'HS256' })
  await alice.do('MAC', [uid(hmac.kid), data(oasisData)])
  await alice.fails('MAC', [uid(hmac.kid), parameters(hashing('SHA_512')), data(oasisData)], bound)
  const ec = await made({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  await alice.do('Sign', [uid(ec.kid), data(oasisData)])
  await alice.fails('Sign', [uid(ec.kid), parameters(hashing('SHA_384')), data(oasisData)], bound)
})

test('CS-BC-M-14 and CS-AC-M-8: a key is refused before and after its process dates', async () => {
  const second = Math.floor(now / 1000)
  const id = await registerKey(
    key16,
    'AES',
    dateTime(Tag.ProcessStartDate, second + 60),
    dateTime(Tag.ProtectStopDate, second - 3600),
  )
  assert.equal(await alice.fails('Encrypt', [uid(id), data(oasisData)], 'WrongKeyLifecycleState'), 'DENIED')
  assert.equal(
    await alice.fails('Decrypt', [uid(id), data(oasisData), iv(Buffer.alloc(12))], 'WrongKeyLifecycleState'),
    'DENIED',
  )
  now += 61_000
  assert.equal(
    await alice.fails('Decrypt', [uid(id), parameters(mode('ECB'))], 'MissingData'),
    'Data is missing.',
  )
  now -= 61_000
})

test('keys in a wrong state, with another usage mask, of another owner or destroyed get the reasons of the standard', async () => {
  const early = await registerKey(
    key16,
    'AES',
    dateTime(Tag.ActivationDate, Math.floor(now / 1000) + 3600),
  ).catch(() => '')
  assert.equal(early, '', 'two activation dates are refused')
  const pre = (
    await alice.do('Create', [
      objectType('SymmetricKey'),
      attributes(
        enumeration(Tag.CryptographicAlgorithm, algorithms.AES),
        integer(Tag.CryptographicLength, 128),
        integer(Tag.CryptographicUsageMask, allCryptoUses),
      ),
    ])
  ).id
  assert.equal(await alice.fails('Encrypt', [uid(pre), data(oasisData)], 'WrongKeyLifecycleState'), 'DENIED')
  const ecb = parameters(mode('ECB'))
  const id = await registerKey(key16, 'AES')
  const sealed = readBytes(await alice.do('Encrypt', [uid(id), ecb, data(oasisData)]), Tag.Data)
  const reason = (code: keyof typeof Enumeration.RevocationReasonCode) =>
    structure(Tag.RevocationReason, [
      enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode[code]),
    ])
  await alice.do('Revoke', [uid(id), reason('CessationOfOperation')])
  assert.equal(
    await alice.fails('Encrypt', [uid(id), ecb, data(oasisData)], 'WrongKeyLifecycleState'),
    'DENIED',
  )
  assert.deepEqual(readBytes(await alice.do('Decrypt', [uid(id), ecb, data(sealed)]), Tag.Data), oasisData)
  await alice.do('Destroy', [uid(id)])
  assert.equal(await alice.fails('Decrypt', [uid(id), ecb, data(sealed)], 'ObjectDestroyed'), 'DENIED')
  const other = await registerKey(key16, 'AES')
  assert.equal(await bob.fails('Encrypt', [uid(other), data(oasisData)], 'ObjectNotFound'), 'DENIED')
  assert.equal(
    await bob.fails('Encrypt', [uid('nobody-has-this'), data(oasisData)], 'ObjectNotFound'),
    'DENIED',
  )
  const signing = await registerKey(key16, 'AES', integer(Tag.CryptographicUsageMask, use.MACGenerate))
  await alice.fails('Encrypt', [uid(signing), data(oasisData)], 'IncompatibleCryptographicUsageMask')
  await alice.fails(
    'MACVerify',
    [uid(signing), data(oasisData), byteString(Tag.MACData, oasisData)],
    'IncompatibleCryptographicUsageMask',
  )
  const free = await registerKey(key16, 'AES', integer(Tag.CryptographicUsageMask, use.Unrestricted))
  await alice.do('Encrypt', [uid(free), data(oasisData)])
})

const limits = (total: number, unit: keyof typeof Enumeration.UsageLimitsUnit) =>
  structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, BigInt(total)),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit[unit]),
  ])

test('CS-BC-M-7: a limit of bytes can be used exactly, and the count shows it', async () => {
  const id = await registerKey(key16, 'AES', limits(16, 'Byte'))
  const ecb = parameters(mode('ECB'))
  await alice.do('Encrypt', [uid(id), ecb, data(oasisData)])
  assert.equal(await alice.fails('Encrypt', [uid(id), ecb, data(oasisData)], 'PermissionDenied'), 'DENIED')
  const reference = enumeration(Tag.AttributeReference, Tag.UsageLimits)
  const { nodes } = await alice.do('GetAttributes', [uid(id), reference])
  assert.match(
    JSON.stringify(nodes, (_, value) => (typeof value === 'bigint' ? Number(value) : value)),
    new RegExp(`"tag":${Tag.UsageLimitsCount},"type":"LongInteger","value":0`),
  )
  await alice.do('Decrypt', [uid(id), ecb, data(oasisData)])
})

test('seven of twenty concurrent encryptions succeed with a key that may be used seven times', async () => {
  const id = await registerKey(key16, 'AES', limits(7, 'Object'))
  const tries = await Promise.all(
    Array.from({ length: 20 }, () =>
      alice.ask('Encrypt', [uid(id), parameters(mode('ECB')), data(oasisData)]),
    ),
  )
  const done = tries.filter(({ status }) => status === 'Success').length
  const others = tries.filter(({ status }) => status !== 'Success').map(({ reason }) => reason)
  assert.equal(done, 7)
  assert.deepEqual(new Set(others), new Set(['PermissionDenied']))
})

test('CS-AC-M-4 to 7: MACs and hashes of the standard', async () => {
  const id = await registerKey(
    key16,
    'AES',
    parameters(enumeration(Tag.CryptographicAlgorithm, algorithms.HMAC_SHA256)),
  )
  const expected = 'c911e78196d64c30f631bb079ea37b97a95936d4da764d6a171df030c895ecf9'
  const made = readBytes(await alice.do('MAC', [uid(id), data(oasisData)]), Tag.MACData)
  assert.equal(made.toString('hex'), expected)
  const check = async (mac: Uint8Array) =>
    (await alice.do('MACVerify', [uid(id), data(oasisData), byteString(Tag.MACData, mac)])).get(
      Tag.ValidityIndicator,
    )
  assert.equal(await check(made), Enumeration.ValidityIndicator.Valid)
  assert.equal(await check(made.subarray(1)), Enumeration.ValidityIndicator.Invalid)
  const hashed = await alice.do('Hash', [parameters(hashing('SHA_256')), data(oasisData)])
  assert.equal(
    readBytes(hashed, Tag.Data).toString('hex'),
    'ad41233d22cf9322e3a7ff49a13da434797abed3bab80950a1a0d4e582b7ea72',
  )
  await alice.fails(
    'Hash',
    [parameters(hashing('MD2')), data(oasisData)],
    'UnsupportedCryptographicParameters',
  )
  await alice.fails('Hash', [data(oasisData)], 'InvalidField')
})

test('pairs sign and verify data and digests; a wrong signature is Invalid, not an error', async () => {
  const length = (bits: number) => integer(Tag.CryptographicLength, bits)
  const curve = structure(Tag.CryptographicDomainParameters, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
  ])
  for (const [made, asked] of [
    [await createPair('RSA', length(2048)), undefined],
    [await createPair('RSA', length(2048)), parameters(padding('PKCS1V1_5'), hashing('SHA_384'))],
    [await createPair('ECDSA', curve), undefined],
    [await createPair('Ed25519'), undefined],
    [await createPair('ML_DSA_65'), undefined],
  ] as const) {
    const signature = byteString(
      Tag.SignatureData,
      readBytes(await alice.do('Sign', [uid(made.priv), asked, data(oasisData)]), Tag.SignatureData),
    )
    const verified = async (id: string, what: TtlvNode, given: TtlvNode) =>
      (await alice.do('SignatureVerify', [uid(id), asked, what, given])).get(Tag.ValidityIndicator)
    assert.equal(await verified(made.pub, data(oasisData), signature), Enumeration.ValidityIndicator.Valid)
    assert.equal(await verified(made.pub, data(key16), signature), Enumeration.ValidityIndicator.Invalid)
    assert.equal(
      await verified(made.pub, data(oasisData), byteString(Tag.SignatureData, key16)),
      Enumeration.ValidityIndicator.Invalid,
    )
    await alice.fails('SignatureVerify', [uid(made.pub), asked, data(oasisData)], 'MissingData')
    await alice.fails('Sign', [uid(made.priv), asked], 'MissingData')
  }
  const { priv, pub } = await createPair('RSA', length(2048))
  const digest = byteString(
    Tag.DigestedData,
    readBytes(await alice.do('Hash', [parameters(hashing('SHA_256')), data(oasisData)]), Tag.Data),
  )
  const asked = parameters(padding('PKCS1V1_5'), hashing('SHA_256'))
  const signed = await alice.do('Sign', [uid(priv), asked, digest])
  const signature = byteString(Tag.SignatureData, readBytes(signed, Tag.SignatureData))
  assert.equal(
    (await alice.do('SignatureVerify', [uid(pub), asked, data(oasisData), signature])).get(
      Tag.ValidityIndicator,
    ),
    Enumeration.ValidityIndicator.Valid,
  )
  await alice.fails('Sign', [uid(priv), asked, digest, data(oasisData)], 'InvalidField')
  const elliptic = await createPair('ECDSA', curve)
  const made = await alice.do('Sign', [uid(elliptic.priv), digest])
  const ecdsa = byteString(Tag.SignatureData, readBytes(made, Tag.SignatureData))
  for (const what of [data(oasisData), digest]) {
    const { nodes } = await alice.do('SignatureVerify', [uid(elliptic.pub), what, ecdsa])
    assert.equal(
      nodes.find(({ tag }) => tag === Tag.ValidityIndicator)?.value,
      Enumeration.ValidityIndicator.Valid,
    )
  }
  const edwards = await createPair('Ed25519')
  await alice.fails('Sign', [uid(edwards.priv), digest], 'UnsupportedCryptographicParameters')
})

test('the private key decrypts what an RSA public key encrypts and an ML-KEM public key encapsulates', async () => {
  const rsa = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  for (const asked of [
    undefined,
    parameters(padding('OAEP'), hashing('SHA_512'), byteString(Tag.PSource, key16)),
    parameters(padding('PKCS1V1_5')),
  ]) {
    const sealed = data(
      readBytes(await alice.do('Encrypt', [uid(rsa.pub), asked, data(oasisData)]), Tag.Data),
    )
    assert.deepEqual(
      readBytes(await alice.do('Decrypt', [uid(rsa.priv), asked, sealed]), Tag.Data),
      oasisData,
    )
  }
  await alice.fails('Encrypt', [uid(rsa.pub), data(oasisData), iv(key16)], 'InvalidField')
  assert.equal(
    await alice.fails('Decrypt', [uid(rsa.priv), data(Buffer.alloc(256, 1))], 'CryptographicFailure'),
    'CRYPTO',
  )
  const kem = await createPair('ML_KEM_768')
  const made = await alice.do('Encrypt', [uid(kem.pub)])
  const opened = await alice.do('Decrypt', [uid(kem.priv), data(readBytes(made, Tag.IVCounterNonce))])
  assert.deepEqual(readBytes(opened, Tag.Data), readBytes(made, Tag.Data))
  assert.equal(readBytes(made, Tag.Data).length, 32)
})

test('a certificate verifies and encrypts with its public key', async () => {
  const { priv, pub } = await createPair('RSA', integer(Tag.CryptographicLength, 2048))
  const name = textString(Tag.CertificateSubjectCN, 'somebody')
  const certified = await alice.do('Certify', [uid(pub), attributes(name)])
  const certificate = (await alice.do('Get', [uid(certified.id)])).nodes.find(
    ({ tag }) => tag === Tag.Certificate,
  )
  const mask = integer(Tag.CryptographicUsageMask, use.Verify | use.Encrypt)
  const made = await alice.do('Register', [
    objectType('Certificate'),
    attributes(mask, activeForAnHour()),
    certificate,
  ])
  const signed = await alice.do('Sign', [uid(priv), data(oasisData)])
  const signature = byteString(Tag.SignatureData, readBytes(signed, Tag.SignatureData))
  const verified = await alice.do('SignatureVerify', [uid(made.id), data(oasisData), signature])
  assert.equal(verified.get(Tag.ValidityIndicator), Enumeration.ValidityIndicator.Valid)
  const sealed = data(readBytes(await alice.do('Encrypt', [uid(made.id), data(oasisData)]), Tag.Data))
  assert.deepEqual(readBytes(await alice.do('Decrypt', [uid(priv), sealed]), Tag.Data), oasisData)
  await alice.fails('Decrypt', [uid(made.id), sealed], 'IncompatibleCryptographicUsageMask')
})

test("the audit log contains the key's id and the algorithm, and no secrets", async () => {
  const id = await registerKey(createSecretKey(key16).export(), 'AES')
  await alice.do('Encrypt', [uid(id), data(Buffer.from('a very secret text'))])
  const records = JSON.stringify(kms.audit)
  assert.match(
    records,
    new RegExp(`"operation":"kmip.Encrypt"[^}]*"object":"${id}"[^}]*"algorithm":"aes-128-gcm"`),
  )
  assert.doesNotMatch(records, /very secret/)
})

test('POST /kmip/2_1: one bare operation in JSON, with its response or its result reason', async () => {
  const id = await registerKey(Buffer.alloc(16), 'AES')
  const node = (tag: string, type: string, value: unknown) => ({ tag, type, value })
  const about = (tag: string, ...more: readonly unknown[]) => ({
    tag,
    value: [
      node('UniqueIdentifier', 'TextString', id),
      {
        tag: 'CryptographicParameters',
        value: [
          node('BlockCipherMode', 'Enumeration', 'GCM'),
          node('CryptographicAlgorithm', 'Enumeration', 'AES'),
        ],
      },
      ...more,
    ],
  })
  const caller = kms.user('alice')
  const nonce = node('IvCounterNonce', 'ByteString', '000000000000000000000000')
  const plain = node('Data', 'ByteString', '00000000000000000000000000000000')
  const { status, json } = await caller.post('/kmip/2_1', about('Encrypt', plain, nonce))
  assert.equal(status, 200)
  assert.equal(json.tag, 'EncryptResponse')
  const values = Object.fromEntries(
    (json.value as readonly { tag: string; value: unknown }[]).map(({ tag, value }) => [tag, value]),
  )
  assert.deepEqual(values, {
    UniqueIdentifier: id,
    Data: '0388DACE60B6A392F328C2B971B2FE78',
    AuthenticatedEncryptionTag: 'AB6E47D42CEC13BDF53A67B21257BDDF',
  })
  const sealed = node('Data', 'ByteString', '0388dace60b6a392f328c2b971b2fe78')
  const wrong = node('AuthenticatedEncryptionTag', 'ByteString', '00'.repeat(16))
  const refused = await caller.post('/kmip/2_1', about('Decrypt', sealed, nonce, wrong))
  assert.equal(refused.status, 422)
  assert.equal(refused.json.result_reason, 'CryptographicFailure')
  assert.equal(refused.json.description, 'CRYPTO')
})
