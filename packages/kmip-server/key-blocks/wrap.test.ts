import assert from 'node:assert/strict'
import { createHmac, createSecretKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { softwareKey } from '@warder/crypto'
import {
  byteString,
  Enumeration,
  encodeTtlv,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import fc from 'fast-check'
import { definePayload } from '../payloads/payload.ts'
import { hex, keyNode } from './fixtures/nodes.ts'
import { readKeyBlock } from './key-block.ts'
import {
  readWrappingData,
  readWrappingSpecification,
  specificationFields,
  type WrappingSpecification,
  writeWrappingData,
} from './key-wrapping.ts'
import { type Authenticator, unwrapKeyValue, unwrapObject, type WrappingKey, wrapKeyValue } from './wrap.ts'

const policy = { fips: false }
type Mode = keyof typeof Enumeration.BlockCipherMode

function parameters(mode: Mode | undefined) {
  return mode === undefined
    ? undefined
    : structure(Tag.CryptographicParameters, [
        enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode[mode]),
      ])
}

function aes(key: string | Uint8Array, mode: Mode | undefined): WrappingKey {
  const bytes = typeof key === 'string' ? Buffer.from(key, 'hex') : key
  return { key: { algorithm: 'AES', key: softwareKey(createSecretKey(bytes)) }, parameters: parameters(mode) }
}

function specification(
  encoding: WrappingSpecification['encoding'],
  method: WrappingSpecification['method'] = 'Encrypt',
): WrappingSpecification {
  const named = { identifier: textString(Tag.UniqueIdentifier, 'k'), parameters: undefined }
  return {
    method,
    encryption: method === 'MACSign' ? undefined : named,
    mac: method === 'Encrypt' ? undefined : named,
    attributes: [],
    encoding,
    encodingGiven: true,
  }
}

const material = (bytes: Uint8Array) => byteString(Tag.KeyMaterial, bytes)

/** RFC 3394 §4 and RFC 5649 §6: key that wraps, key that is wrapped, result. */
const vectors: readonly (readonly [string, Mode, string, string, string])[] = [
  [
    'RFC 3394 §4.1',
    'NISTKeyWrap',
    '000102030405060708090A0B0C0D0E0F',
    '00112233445566778899AABBCCDDEEFF',
    '1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5',
  ],
  [
    'RFC 3394 §4.2',
    'NISTKeyWrap',
    '000102030405060708090A0B0C0D0E0F1011121314151617',
    '00112233445566778899AABBCCDDEEFF',
    '96778B25AE6CA435F92B5B97C050AED2468AB8A17AD84E5D',
  ],
  [
    'RFC 3394 §4.3',
    'NISTKeyWrap',
    '000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',
    '00112233445566778899AABBCCDDEEFF',
    '64E8C3F9CE0F5BA263E9777905818A2A93C8191E7D6E8AE7',
  ],
  [
    'RFC 3394 §4.4',
    'NISTKeyWrap',
    '000102030405060708090A0B0C0D0E0F1011121314151617',
    '00112233445566778899AABBCCDDEEFF0001020304050607',
    '031D33264E15D33268F24EC260743EDCE1C6C7DDEE725A936BA814915C6762D2',
  ],
  [
    'RFC 3394 §4.5',
    'NISTKeyWrap',
    '000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',
    '00112233445566778899AABBCCDDEEFF0001020304050607',
    'A8F9BC1612C68B3FF6E6F4FBE30E71E4769C8B80A32CB8958CD5D17D6B254DA1',
  ],
  [
    'RFC 3394 §4.6',
    'NISTKeyWrap',
    '000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',
    '00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F',
    '28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21',
  ],
  [
    'RFC 5649 §6, 20 bytes',
    'AESKeyWrapPadding',
    '5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8',
    'c37b7e6492584340bed12207808941155068f738',
    '138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a',
  ],
  [
    'RFC 5649 §6, 7 bytes',
    'AESKeyWrapPadding',
    '5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8',
    '466f7250617369',
    'afbeb0f07dfbf5419200f2ccb50bb24f',
  ],
]

for (const [name, mode, kek, key, expected] of vectors) {
  test(`${name} is reproduced, and unwrapped`, async () => {
    const keys = { encryption: aes(kek, mode), mac: undefined }
    const wrapped = await wrapKeyValue(
      material(Buffer.from(key, 'hex')),
      [],
      specification('NoEncoding'),
      keys,
      policy,
    )
    assert.equal(hex(wrapped.value.value as Uint8Array), expected.toLowerCase())
    const opened = await unwrapKeyValue(wrapped.value.value as Uint8Array, wrapped.data, keys, policy)
    assert.equal(hex(opened.material.value as Uint8Array), key.toLowerCase())
  })
}

test('the default is the key wrap of RFC 3394, over the TTLV encoding of the KeyValue', async () => {
  const kek = randomBytes(32)
  const key = material(randomBytes(32))
  const wrap = (mode: Mode | undefined) =>
    wrapKeyValue(
      key,
      [],
      specification('TTLVEncoding'),
      { encryption: aes(kek, mode), mac: undefined },
      policy,
    )
  const [plain, named] = [await wrap(undefined), await wrap('NISTKeyWrap')]
  assert.deepEqual(plain.value, named.value)
  const encoded = encodeTtlv(structure(Tag.KeyValue, [key]))
  assert.equal((plain.value.value as Uint8Array).length, encoded.length + 8)
})

const modes = [
  'NISTKeyWrap',
  'AESKeyWrapPadding',
  'GCM',
  'GCM_SIV',
  'CCM',
  'CBC',
  'CTR',
  'CFB',
  'OFB',
] as const

test('property: a wrapped key is unwrapped with its attributes, in every mode and key size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...modes),
      fc.constantFrom(16, 24, 32),
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.boolean(),
      async (mode, size, bytes, named) => {
        if (mode === 'GCM_SIV' && size === 24) return
        const keys = { encryption: aes(randomBytes(size), mode), mac: undefined }
        const attributes = named ? [integer(Tag.CryptographicUsageMask, 12)] : []
        const { value, data } = await wrapKeyValue(
          material(bytes),
          named ? [structure(Tag.Attributes, attributes)] : [],
          specification('TTLVEncoding'),
          keys,
          policy,
        )
        assert.ok(value.value instanceof Uint8Array)
        assert.ok(!Buffer.from(value.value).includes(Buffer.from(bytes)) || bytes.length < 8)
        const opened = await unwrapKeyValue(value.value, data, keys, policy)
        assert.equal(hex(opened.material.value as Uint8Array), hex(bytes))
        assert.deepEqual(opened.attributes, attributes)
      },
    ),
    { numRuns: 60 },
  )
})

test('the IV may precede the ciphertext, as other servers write it', async () => {
  const keys = { encryption: aes(randomBytes(24), 'GCM'), mac: undefined }
  const { value, data } = await wrapKeyValue(
    material(randomBytes(32)),
    [],
    specification('NoEncoding'),
    keys,
    policy,
  )
  const inFront = Buffer.concat([data.iv ?? new Uint8Array(), value.value as Uint8Array])
  const opened = await unwrapKeyValue(inFront, { ...data, iv: undefined }, keys, policy)
  assert.deepEqual(opened, await unwrapKeyValue(value.value as Uint8Array, data, keys, policy))
})

for (const [name, padding] of [
  ['RSA-OAEP', 'OAEP'],
  ['RSA with an AES key wrap (PKCS#11)', 'None'],
  ['PKCS#1 v1.5', 'PKCS1V1_5'],
] as const) {
  test(`${name} wraps with the public key and unwraps only with the private key`, async () => {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const said = structure(Tag.CryptographicParameters, [
      enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod[padding]),
    ])
    const half = (key: typeof pair.publicKey) => ({
      encryption: { key: { algorithm: 'RSA' as const, key: softwareKey(key) }, parameters: said },
      mac: undefined,
    })
    const bytes = randomBytes(padding === 'None' ? 4000 : 32)
    const { value, data } = await wrapKeyValue(
      material(bytes),
      [],
      specification('NoEncoding'),
      half(pair.publicKey),
      policy,
    )
    const wrapped = value.value as Uint8Array
    const opened = await unwrapKeyValue(wrapped, data, half(pair.privateKey), policy)
    assert.equal(hex(opened.material.value as Uint8Array), hex(bytes))
    await assert.rejects(unwrapKeyValue(wrapped, data, half(pair.publicKey), policy), {
      code: 'CryptographicFailure',
    })
  })
}

/** HMAC, for tests. */
const hmac: Authenticator = {
  sign: async (data) => createHmac('sha256', 'k').update(data).digest(),
  verify: async (data, mac) => createHmac('sha256', 'k').update(data).digest().equals(mac),
}

test('a MAC covers the bytes that the wrapping method names, and a wrong MAC gets the same error as other failures', async () => {
  for (const method of ['MACSign', 'EncryptThenMACSign', 'MACSignThenEncrypt'] as const) {
    const keys = { encryption: aes(randomBytes(32), 'AESKeyWrapPadding'), mac: hmac }
    const spec = specification('TTLVEncoding', method)
    const { value, data } = await wrapKeyValue(material(randomBytes(32)), [], spec, keys, policy)
    assert.equal(data.macSignature?.length, 32)
    const block = structure(Tag.SymmetricKey, [
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
        value,
        writeWrappingData(data, { encryption: data.encryption && 'k', mac: 'm' }),
      ]),
    ])
    const { wrapping, value: stored } = readKeyBlock(block)
    assert.ok(wrapping !== undefined && stored !== undefined)
    await unwrapKeyValue(stored, wrapping, keys, policy)
    const wrong = { ...wrapping, macSignature: randomBytes(32) }
    for (const changed of [wrong, { ...wrapping, macSignature: undefined }]) {
      await assert.rejects(unwrapKeyValue(stored, changed, keys, policy), {
        code: 'CryptographicFailure',
        message: 'CRYPTO',
      })
    }
  }
})

test('property: a modified authenticated wrapping is never unwrapped, and the error does not say why', async () => {
  const keys = { encryption: aes(randomBytes(32), 'NISTKeyWrap'), mac: undefined }
  const { value, data } = await wrapKeyValue(
    material(randomBytes(32)),
    [],
    specification('TTLVEncoding'),
    keys,
    policy,
  )
  const whole = value.value as Uint8Array
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.nat(whole.length),
      async (at, flip, cut) => {
        const changed = Uint8Array.from(whole)
        changed[at] = (changed[at] ?? 0) ^ flip
        for (const bytes of [changed, whole.subarray(0, Math.min(cut, whole.length - 1))])
          await assert.rejects(unwrapKeyValue(bytes, data, keys, policy), {
            code: 'CryptographicFailure',
            message: 'CRYPTO',
          })
      },
    ),
    { numRuns: 60 },
  )
})

test('unwrapping turns the key block of a wrapped key into the block of the plain key', async () => {
  const keys = { encryption: aes(randomBytes(16), 'GCM'), mac: undefined }
  const clear = keyNode('SymmetricKey', 'TransparentSymmetricKey', [byteString(Tag.Key, randomBytes(32))])
  const { value: plain } = readKeyBlock(clear)
  assert.ok(plain !== undefined && !(plain instanceof Uint8Array))
  const { value, data } = await wrapKeyValue(plain.material, [], specification('TTLVEncoding'), keys, policy)
  const wrapped = structure(Tag.SymmetricKey, [
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.TransparentSymmetricKey),
      value,
      writeWrappingData(data, { encryption: 'k', mac: undefined }),
    ]),
  ])
  assert.equal(hex(encodeTtlv(await unwrapObject(wrapped, keys, policy))), hex(encodeTtlv(clear)))
  await assert.rejects(wrapKeyValue(plain.material, [], specification('NoEncoding'), keys, policy), {
    code: 'EncodingOptionError',
  })
})

const specificationPayload = definePayload(specificationFields)
const readSpecification = (...members: readonly TtlvNode[]) =>
  readWrappingSpecification(specificationPayload.decode(structure(Tag.KeyWrappingSpecification, members)))

test('KeyWrappingData that contradict each other are refused by name', () => {
  const method = (name: keyof typeof Enumeration.WrappingMethod) =>
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod[name])
  const key = structure(Tag.EncryptionKeyInformation, [textString(Tag.UniqueIdentifier, 'k')])
  const mac = structure(Tag.MACSignatureKeyInformation, [textString(Tag.UniqueIdentifier, 'k')])
  const none = enumeration(Tag.EncodingOption, Enumeration.EncodingOption.NoEncoding)
  const name = textString(Tag.AttributeName, 'Cryptographic Usage Mask')
  const cases: readonly (readonly [string, readonly TtlvNode[]])[] = [
    ['InvalidField', [key]],
    ['InvalidField', [method('Encrypt')]],
    ['InvalidField', [method('Encrypt'), key, mac]],
    ['InvalidField', [method('MACSign'), key]],
    ['InvalidField', [method('EncryptThenMACSign'), key]],
    ['InvalidField', [method('Encrypt'), structure(Tag.EncryptionKeyInformation, [])]],
    ['FeatureNotSupported', [method('TR_31'), key]],
    ['EncodingOptionError', [method('Encrypt'), key, none, name]],
  ]
  for (const [reason, members] of cases) assert.throws(() => readSpecification(...members), { code: reason })
  assert.throws(() => readWrappingData(structure(Tag.KeyWrappingData, [key])), { code: 'InvalidField' })
})
