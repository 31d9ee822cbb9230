import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, verify } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import {
  activeSince,
  aesKey,
  type FormatName,
  hex,
  inside,
  keyBlock,
  keyOf,
  mask,
  same,
  wanted,
  wrappingSpecification,
} from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { passwordObject, usageLimits } from '../../testing/requests.ts'

const { kms, alice } = await startKmipFixture()

const { KeyFormatType: format } = Enumeration

test('Get returns every type of object as it was registered', async () => {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const objects: readonly (readonly [keyof typeof Enumeration.ObjectType, StructureNode])[] = [
    ['SymmetricKey', aesKey(randomBytes(32))],
    [
      'PrivateKey',
      structure(Tag.PrivateKey, [
        keyBlock('PKCS_1', pair.privateKey.export({ format: 'der', type: 'pkcs1' }), ...keyOf('RSA', 2048)),
      ]),
    ],
    [
      'PublicKey',
      structure(Tag.PublicKey, [
        keyBlock('X_509', pair.publicKey.export({ format: 'der', type: 'spki' }), ...keyOf('RSA', 2048)),
      ]),
    ],
    ['SecretData', passwordObject('correct horse')],
    [
      'OpaqueObject',
      structure(Tag.OpaqueObject, [
        enumeration(Tag.OpaqueDataType, Enumeration.OpaqueDataType.Vendor),
        byteString(Tag.OpaqueDataValue, Buffer.from('anything')),
      ]),
    ],
    [
      'SplitKey',
      structure(Tag.SplitKey, [
        integer(Tag.SplitKeyParts, 3),
        integer(Tag.KeyPartIdentifier, 1),
        integer(Tag.SplitKeyThreshold, 2),
        enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.PolynomialSharingGF28),
        keyBlock('Raw', randomBytes(32), ...keyOf('AES', 256)),
      ]),
    ],
    [
      'PGPKey',
      structure(Tag.PGPKey, [integer(Tag.PGPKeyVersion, 4), keyBlock('Raw', Buffer.from('pgp packets'))]),
    ],
    [
      'CertificateRequest',
      structure(Tag.CertificateRequest, [
        enumeration(Tag.CertificateRequestType, Enumeration.CertificateRequestType.PEM),
        byteString(Tag.CertificateRequestValue, Buffer.from('-----BEGIN …')),
      ]),
    ],
  ]
  for (const [type, node] of objects) {
    const { id } = await alice.do('Register', [objectType(type), attributes(mask()), node])
    const got = await alice.do('Get', [uid(id)])
    assert.equal(got.get(Tag.ObjectType), Enumeration.ObjectType[type])
    same(got.nodes[2], node)
  }
})

test('a private key is returned in each of its formats, and in no other', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sec1 = privateKey.export({ format: 'der', type: 'sec1' })
  const node = structure(Tag.PrivateKey, [keyBlock('ECPrivateKey', sec1, ...keyOf('ECDSA', 256))])
  const { id } = await alice.do('Register', [objectType('PrivateKey'), attributes(mask('Sign')), node])
  const material = async (name: FormatName) => {
    const { nodes } = await alice.do('Get', [uid(id), wanted(name)])
    return inside(nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)
  }
  assert.equal(hex((await material('ECPrivateKey'))?.value), hex(sec1))
  const pkcs8 = Buffer.from(hex((await material('PKCS_8'))?.value), 'hex')
  assert.ok(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).equals(privateKey))
  const transparent = await material('TransparentECPrivateKey')
  assert.equal(inside(transparent, Tag.RecommendedCurve)?.value, Enumeration.RecommendedCurve.P_256)
  await alice.fails('Get', [uid(id), wanted('PKCS_1')], 'KeyFormatTypeNotSupported')
  await alice.fails('Get', [uid(id), wanted('TransparentSymmetricKey')], 'KeyFormatTypeNotSupported')
})

test('a Sensitive key is returned only wrapped, and a key that is not Extractable never', async () => {
  const kek = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
    aesKey(randomBytes(32)),
  ])
  const register = (...more: readonly TtlvNode[]) =>
    alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('Encrypt'), ...more),
      aesKey(randomBytes(16)),
    ])
  const wrapped = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid(kek.id)]),
  ])
  const sensitive = await register(boolean(Tag.Sensitive, true))
  assert.equal(await alice.fails('Get', [uid(sensitive.id)], 'Sensitive'), 'DENIED')
  const got = await alice.do('Get', [uid(sensitive.id), wrapped])
  assert.equal(inside(got.nodes[2], Tag.KeyBlock, Tag.KeyValue)?.type, 'ByteString')
  const kept = await register(boolean(Tag.Extractable, false))
  assert.equal(await alice.fails('Get', [uid(kept.id)], 'NotExtractable'), 'DENIED')
  assert.equal(await alice.fails('Get', [uid(kept.id), wrapped], 'NotExtractable'), 'DENIED')
})

test('an object that one server wraps is registered by another, and returned unchanged, unwrapped or in another format', async () => {
  const kek = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
    aesKey(randomBytes(32)),
  ])
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pkcs1 = privateKey.export({ format: 'der', type: 'pkcs1' })
  const key = await alice.do('Register', [
    objectType('PrivateKey'),
    attributes(mask('Sign')),
    structure(Tag.PrivateKey, [keyBlock('PKCS_1', pkcs1, ...keyOf('RSA', 2048))]),
  ])
  for (const mode of ['NISTKeyWrap', 'AESKeyWrapPadding', 'GCM', 'CBC', 'CTR', undefined] as const) {
    const got = await alice.do('Get', [uid(key.id), wrappingSpecification(kek.id, mode)])
    const wrapped = got.nodes[2]
    assert.ok(wrapped)
    const again = await alice.do('Register', [objectType('PrivateKey'), attributes(mask('Sign')), wrapped])
    same((await alice.do('Get', [uid(again.id)])).nodes[2], wrapped)
    const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
    const opened = await alice.do('Get', [uid(again.id), clear])
    const bytes = inside(opened.nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value
    assert.equal(hex(bytes), hex(pkcs1))
    const other = await alice.do('Get', [uid(again.id), wanted('PKCS_8')])
    assert.equal(inside(other.nodes[2], Tag.KeyBlock, Tag.KeyFormatType)?.value, format.PKCS_8)
    assert.equal(inside(other.nodes[2], Tag.KeyBlock, Tag.KeyValue)?.type, 'ByteString')
  }
})

test('the wrapping key must exist, be Active and have the usage mask, and the caller needs the right to use it', async () => {
  const key = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt')),
    aesKey(randomBytes(16)),
  ])
  const register = (who: typeof alice, ...given: readonly TtlvNode[]) =>
    who.do('Register', [objectType('SymmetricKey'), attributes(...given), aesKey(randomBytes(32))])
  const wrap = (id: string) => [uid(key.id), wrappingSpecification(id, 'NISTKeyWrap')]
  const preActive = await register(alice, mask('WrapKey'))
  const forData = await register(alice, mask('Encrypt'), activeSince)
  const foreign = await register(kmipClient(kms.user('bob')), mask('WrapKey'), activeSince)
  await alice.fails('Get', wrap('nothing'), 'WrappingObjectNotFound')
  const itself = await register(alice, mask('WrapKey'), activeSince)
  await alice.fails('Get', [uid(itself.id), wrappingSpecification(itself.id, undefined)], 'InvalidField')
  await alice.fails('Get', wrap(foreign.id), 'WrappingObjectNotFound')
  await alice.fails('Get', wrap(preActive.id), 'WrongKeyLifecycleState')
  await alice.fails('Get', wrap(forData.id), 'IncompatibleCryptographicUsageMask')
  await alice.do('Destroy', [uid(preActive.id)])
  await alice.fails('Get', wrap(preActive.id), 'WrappingObjectDestroyed')
})

test('a MAC is not a wrapping: a Sensitive key that was registered wrapped is not returned in clear with a MAC', async () => {
  const register = (...given: readonly TtlvNode[]) => [
    objectType('SymmetricKey'),
    attributes(activeSince, ...given),
  ]
  const kek = await alice.do('Register', [...register(mask('WrapKey', 'UnwrapKey')), aesKey(randomBytes(32))])
  const macKey = await alice.do('Register', [
    ...register(mask('MACGenerate', 'MACVerify')),
    structure(Tag.SymmetricKey, [keyBlock('Raw', randomBytes(32), ...keyOf('HMAC_SHA256', 256))]),
  ])
  const key = await alice.do('Register', [...register(mask('Encrypt')), aesKey(randomBytes(32))])
  const macOnly = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.MACSign),
    structure(Tag.MACSignatureKeyInformation, [uid(macKey.id)]),
  ])
  const signed = (await alice.do('Get', [uid(key.id), macOnly])).nodes[2]
  const mac = inside(signed, Tag.KeyBlock, Tag.KeyWrappingData, Tag.MACSignature)?.value
  assert.ok(mac instanceof Uint8Array && mac.length === 32)
  const wrapped = (await alice.do('Get', [uid(key.id), wrappingSpecification(kek.id, 'GCM')])).nodes[2]
  assert.ok(wrapped)
  const sensitive = await alice.do('Register', [
    ...register(mask('Encrypt'), boolean(Tag.Sensitive, true)),
    wrapped,
  ])
  same((await alice.do('Get', [uid(sensitive.id)])).nodes[2], wrapped)
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  await alice.fails('Get', [uid(sensitive.id), macOnly], 'Sensitive')
  await alice.fails('Get', [uid(sensitive.id), clear], 'Sensitive')
  const both = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.EncryptThenMACSign),
    structure(Tag.EncryptionKeyInformation, [uid(kek.id)]),
    structure(Tag.MACSignatureKeyInformation, [uid(macKey.id)]),
  ])
  const rewrapped = (await alice.do('Get', [uid(sensitive.id), both])).nodes[2]
  assert.equal(inside(rewrapped, Tag.KeyBlock, Tag.KeyValue)?.type, 'ByteString')
})

test('each wrapping counts as a use of the wrapping key', async () => {
  const limits = usageLimits(2n)
  const kek = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey'), activeSince, limits),
    aesKey(randomBytes(32)),
  ])
  const key = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt')),
    aesKey(randomBytes(32)),
  ])
  const get = [uid(key.id), wrappingSpecification(kek.id, 'NISTKeyWrap')]
  await alice.do('Get', get)
  await alice.do('Get', get)
  assert.equal(await alice.fails('Get', get, 'PermissionDenied'), 'DENIED')
})

test('a registered private key signs over REST', async () => {
  const alice = kms.user('alice')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { id } = await kmipClient(alice).do('Register', [
    objectType('PrivateKey'),
    attributes(mask('Sign'), activeSince),
    structure(Tag.PrivateKey, [
      keyBlock('PKCS_8', privateKey.export({ format: 'der', type: 'pkcs8' }), ...keyOf('EC', 256)),
    ]),
  ])
  const data = Buffer.from('signed').toString('base64url')
  const signed = await alice.post('/v1/crypto/sign', { kid: id, alg: 'ES256', data })
  assert.equal(signed.status, 200, signed.text)
  const { protected: header, signature } = signed.json
  const key = { key: createPublicKey(privateKey), dsaEncoding: 'ieee-p1363' } as const
  assert.ok(verify('sha256', Buffer.from(`${header}.${data}`), key, Buffer.from(signature, 'base64url')))
})

test('hostile objects are refused with a reason, and nothing is stored', async () => {
  const block = (...members: readonly TtlvNode[]) =>
    structure(Tag.SymmetricKey, [structure(Tag.KeyBlock, members)])
  const raw = enumeration(Tag.KeyFormatType, format.Raw)
  const value = structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, randomBytes(32))])
  const cases: readonly (readonly [string, TtlvNode])[] = [
    ['InvalidField', structure(Tag.SymmetricKey, [])],
    ['InvalidField', block(value)],
    ['InvalidField', block(raw, value, integer(Tag.CryptographicLength, 128))],
    ['InvalidField', block(raw, value, integer(Tag.CryptographicLength, -1))],
    ['InvalidField', block(raw, structure(Tag.KeyValue, []))],
    ['InvalidField', block(raw, byteString(Tag.KeyValue, randomBytes(32)))],
    ['KeyFormatTypeNotSupported', block(enumeration(Tag.KeyFormatType, format.PKCS_8), value)],
    ['KeyFormatTypeNotSupported', block(enumeration(Tag.KeyFormatType, 0x7f), value)],
    ['KeyValueNotPresent', block(raw)],
    ['InvalidField', structure(Tag.PrivateKey, [])],
    ['MissingData', textString(Tag.Description, 'no object')],
  ]
  for (const [reason, node] of cases)
    await alice.fails('Register', [objectType('SymmetricKey'), attributes(mask('Encrypt')), node], reason)
  await alice.fails('Register', [objectType('Template'), attributes()], 'InvalidField')
})

test('keys that are too short for JOSE are stored for KMIP and refused over REST', async () => {
  const user = kms.user('alice')
  const alice = kmipClient(user)
  const data = Buffer.from('x').toString('base64url')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const rsa = await alice.do('Register', [
    objectType('PrivateKey'),
    attributes(mask('Sign'), activeSince),
    structure(Tag.PrivateKey, [
      keyBlock('PKCS_1', privateKey.export({ format: 'der', type: 'pkcs1' }), ...keyOf('RSA', 1024)),
    ]),
  ])
  const signed = await user.post('/v1/crypto/sign', { kid: rsa.id, alg: 'RS256', data })
  assert.deepEqual([signed.status, signed.json.error], [422, 'crypto_failure'])
  await alice.do('Sign', [uid(rsa.id), byteString(Tag.Data, Buffer.from('x'))])
  for (const [bits, status] of [
    [128, 422],
    [256, 200],
  ] as const) {
    const key = keyBlock('Raw', randomBytes(bits / 8), ...keyOf('HMAC_SHA256', bits))
    const { id } = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('MACGenerate'), activeSince),
      structure(Tag.SymmetricKey, [key]),
    ])
    assert.equal((await user.post('/v1/crypto/mac', { kid: id, alg: 'HS256', data })).status, status)
    await alice.do('MAC', [uid(id), byteString(Tag.Data, Buffer.from('x'))])
  }
})

test('keys created over REST are returned in the format that their attributes name', async () => {
  const user = kms.user('alice')
  const alice = kmipClient(user)
  for (const [body, name] of [
    [{ kty: 'EC', crv: 'P-384' }, 'TransparentECPrivateKey'],
    [{ kty: 'RSA', bits: 2048 }, 'PKCS_1'],
    [{ kty: 'OKP', alg: 'EdDSA' }, 'PKCS_8'],
    [{ kty: 'oct', alg: 'A256GCM' }, 'Raw'],
    [{ kty: 'oct', alg: 'HS384' }, 'Raw'],
  ] as const) {
    const made = await user.post('/v1/crypto/keys', body)
    assert.equal(made.status, 200, made.text)
    const { nodes } = await alice.do('GetAttributes', [uid(made.json.kid)])
    const got = await alice.do('Get', [uid(made.json.kid)])
    assert.equal(inside(got.nodes[2], Tag.KeyBlock, Tag.KeyFormatType)?.value, format[name])
    const described = nodes.find(({ tag }) => tag === Tag.Attributes)
    for (const tag of [Tag.KeyFormatType, Tag.CryptographicAlgorithm, Tag.CryptographicLength]) {
      const inBlock = inside(got.nodes[2], Tag.KeyBlock, tag)?.value
      assert.equal(inside(described, tag)?.value, inBlock)
    }
  }
})
