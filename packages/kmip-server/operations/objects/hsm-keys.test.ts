import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { createProcessToken, missingSofthsm } from '@warder/pkcs11/testing'
import { aesKey, inside } from '../../testing/keys.ts'
import {
  data,
  hashing,
  iv,
  type KmipFixture,
  mode,
  oasisData,
  padding,
  parameters,
  readBytes,
  startKmipFixture,
} from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { getAttributes, listIds } from '../../testing/requests.ts'

const skip = missingSofthsm
const softhsm = missingSofthsm ? undefined : createProcessToken('warder kmip')

const { library, label, pinFile } = softhsm ?? {}
const hsm = { name: 'main', library, token_label: label, pin_file: pinFile, admins: ['alice'], sessions: 2 }
const fixture =
  softhsm === undefined ? undefined : await startKmipFixture({ config: { hsm: [JSON.stringify(hsm)] } })

function getFixture(): KmipFixture {
  assert.ok(fixture)
  return fixture
}

const { CryptographicUsageMask: use, CryptographicAlgorithm: algorithms, ProtectionStorageMask } = Enumeration
const all = use.Encrypt | use.Decrypt | use.WrapKey | use.UnwrapKey
const named = (id: string): TtlvNode => textString(Tag.UniqueIdentifier, id)

const wantedKey = (
  id: string,
  algorithm: keyof typeof algorithms = 'AES',
  mask = all,
  ...more: readonly TtlvNode[]
) => [
  objectType('SymmetricKey'),
  attributes(
    enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
    integer(Tag.CryptographicLength, 256),
    integer(Tag.CryptographicUsageMask, mask),
    getFixture().activeForAnHour(),
    named(id),
    ...more,
  ),
]

test('Create makes a key in the HSM that encrypts, is located, and is not given by Get or Export', {
  skip,
}, async () => {
  const { alice, bob } = getFixture()
  const { id } = await alice.do('Create', wantedKey('hsm::main::kmip'))
  assert.equal(id, 'hsm::main::kmip')
  for (const [name, more] of [
    ['GCM', []],
    ['CBC', [padding('PKCS5')]],
    ['CTR', []],
  ] as const) {
    const how = parameters(mode(name), ...more)
    const sealed = await alice.do('Encrypt', [uid(id), how, data(oasisData.subarray(0, 13))])
    const tag = sealed.get(Tag.AuthenticatedEncryptionTag) as Uint8Array | undefined
    const opened = await alice.do('Decrypt', [
      uid(id),
      how,
      data(readBytes(sealed, Tag.Data)),
      iv(readBytes(sealed, Tag.IVCounterNonce)),
      ...(tag === undefined ? [] : [byteString(Tag.AuthenticatedEncryptionTag, tag)]),
    ])
    assert.deepEqual(readBytes(opened, Tag.Data), oasisData.subarray(0, 13), name)
  }
  const nonce = randomBytes(12)
  const own = await alice.do('Encrypt', [uid(id), parameters(mode('GCM')), data(oasisData), iv(nonce)])
  assert.equal(readBytes(own, Tag.Data).length, oasisData.length)
  for (const operation of ['Get', 'Export'] as const)
    await alice.fails(operation, [uid(id)], 'NotExtractable')
  const found = await alice.do('Locate', [
    attributes(enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey)),
  ])
  assert.ok(listIds(found).includes(id))
  const shown = await getAttributes(alice, id)
  const findValue = (tag: number) => shown.find((node) => node.tag === tag)?.value
  assert.deepEqual(
    [
      Tag.ProtectionStorageMask,
      Tag.Sensitive,
      Tag.AlwaysSensitive,
      Tag.Extractable,
      Tag.NeverExtractable,
    ].map(findValue),
    [ProtectionStorageMask.Hardware, true, true, false, true],
  )
  for (const change of [boolean(Tag.Extractable, true), boolean(Tag.Sensitive, false)])
    await alice.fails('SetAttribute', [uid(id), structure(Tag.NewAttribute, [change])], 'AttributeReadOnly')
  await bob.fails('Create', wantedKey('hsm::main::his'), 'PermissionDenied')
})

test('storage masks that do not fit are refused by name, in the HSM and outside of it', {
  skip,
}, async () => {
  const { alice } = getFixture()
  const masks = (...values: readonly number[]) =>
    structure(
      Tag.ProtectionStorageMasks,
      values.map((value) => integer(Tag.ProtectionStorageMask, value)),
    )
  const { Software, OnSystem, Hardware } = ProtectionStorageMask
  const wanted = enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryStorageProtectionMasks)
  const [{ nodes: [offered] = [] } = {}] = [await alice.do('Query', [wanted])]
  assert.deepEqual(offered, masks(Software | OnSystem, Hardware))
  const software = [...wantedKey('hsm::main::soft'), masks(Software)]
  await alice.fails('Create', software, 'ProtectionStorageUnavailable')
  await alice.fails(
    'Create',
    wantedKey('hsm::main::soft', 'AES', all, integer(Tag.ProtectionStorageMask, Software)),
    'ProtectionStorageUnavailable',
  )
  await alice.fails('Create', [...wantedKey('here'), masks(Hardware)], 'ProtectionStorageUnavailable')
  const either = [...wantedKey('hsm::main::hard'), masks(Software, Hardware)]
  assert.equal((await alice.do('Create', either)).id, 'hsm::main::hard')
  await alice.fails('Create', wantedKey('hsm::none::x'), 'InvalidMessage')
  await alice.fails(
    'Register',
    [objectType('SymmetricKey'), attributes(named('hsm::main::mine')), aesKey(randomBytes(32))],
    'InvalidMessage',
  )
})

test('CreateKeyPair, Sign, SignatureVerify, Decrypt and MAC use the HSM', { skip }, async () => {
  const { alice, activeForAnHour } = getFixture()
  for (const [algorithm, bits, how] of [
    ['RSA', 2048, parameters(hashing('SHA_256'), padding('PSS'))],
    ['EC', 256, parameters(hashing('SHA_256'))],
  ] as const) {
    const made = await alice.do('CreateKeyPair', [
      structure(Tag.CommonAttributes, [
        enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
        integer(Tag.CryptographicLength, bits),
        activeForAnHour(),
      ]),
      structure(Tag.PrivateKeyAttributes, [
        integer(Tag.CryptographicUsageMask, algorithm === 'RSA' ? use.Sign | use.Decrypt : use.Sign),
        named(`hsm::main::${algorithm} pair`),
      ]),
      structure(Tag.PublicKeyAttributes, [integer(Tag.CryptographicUsageMask, use.Verify | use.Encrypt)]),
    ])
    const priv = String(made.get(Tag.PrivateKeyUniqueIdentifier))
    const pub = String(made.get(Tag.PublicKeyUniqueIdentifier))
    assert.deepEqual([priv, pub], [`hsm::main::${algorithm} pair`, `hsm::main::${algorithm} pair_pk`])
    const signed = await alice.do('Sign', [uid(priv), how, data(oasisData)])
    const verified = await alice.do('SignatureVerify', [
      uid(pub),
      how,
      data(oasisData),
      byteString(Tag.SignatureData, readBytes(signed, Tag.SignatureData)),
    ])
    assert.equal(verified.get(Tag.ValidityIndicator), Enumeration.ValidityIndicator.Valid)
    await alice.fails('Get', [uid(priv)], 'NotExtractable')
    assert.ok((await alice.do('Get', [uid(pub)])).nodes.length > 0)
    if (algorithm === 'EC') continue
    const oaep = parameters(padding('OAEP'), hashing('SHA_256'))
    const sealed = await alice.do('Encrypt', [uid(pub), oaep, data(oasisData)])
    const opened = await alice.do('Decrypt', [uid(priv), oaep, data(readBytes(sealed, Tag.Data))])
    assert.deepEqual(readBytes(opened, Tag.Data), oasisData)
    await alice.fails('Decrypt', [uid(priv), oaep, data(randomBytes(256))], 'CryptographicFailure')
  }
  const mac = wantedKey('hsm::main::mac', 'HMAC_SHA256', use.MACGenerate | use.MACVerify)
  const { id } = await alice.do('Create', mac)
  const made = await alice.do('MAC', [uid(id), data(oasisData)])
  const given = byteString(Tag.MACData, readBytes(made, Tag.MACData))
  const verified = await alice.do('MACVerify', [uid(id), data(oasisData), given])
  assert.equal(verified.get(Tag.ValidityIndicator), Enumeration.ValidityIndicator.Valid)
})

test('a key of the HSM wraps another object for Get, and unwraps it for Register', { skip }, async () => {
  const { alice } = getFixture()
  const { id: wrapping } = await alice.do('Create', wantedKey('hsm::main::wrapping'))
  const value = randomBytes(32)
  const { id } = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(integer(Tag.CryptographicUsageMask, use.Encrypt)),
    aesKey(value),
  ])
  const specification = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid(wrapping), parameters(mode('NISTKeyWrap'))]),
    enumeration(Tag.EncodingOption, Enumeration.EncodingOption.NoEncoding),
  ])
  const { nodes } = await alice.do('Get', [uid(id), specification])
  const wrapped = nodes.find(({ tag }) => tag === Tag.SymmetricKey)
  assert.ok(wrapped !== undefined)
  const back = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(integer(Tag.CryptographicUsageMask, use.Encrypt)),
    wrapped,
  ])
  const { nodes: clear } = await alice.do('Get', [
    uid(back.id),
    enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped),
  ])
  const key = clear.find(({ tag }) => tag === Tag.SymmetricKey)
  assert.deepEqual(inside(key, Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value, value)
})

test('ReKey and ReKeyKeyPair make the next version in the HSM, and Revoke and Destroy end a key', {
  skip,
}, async () => {
  const { alice, kms } = getFixture()
  const { id } = await alice.do('Create', wantedKey('hsm::main::renewed'))
  const sealed = await alice.do('Encrypt', [uid(id), parameters(mode('GCM')), data(oasisData)])
  const next = await alice.do('ReKey', [uid(id)])
  const stored = await kms.user('alice').get(`/v1/crypto/keys/${next.id}`)
  assert.deepEqual([stored.json.hsm, stored.json.hardware], ['main', true], stored.text)
  const opened = await alice.do('Decrypt', [
    uid(id),
    parameters(mode('GCM')),
    data(readBytes(sealed, Tag.Data)),
    iv(readBytes(sealed, Tag.IVCounterNonce)),
    byteString(Tag.AuthenticatedEncryptionTag, readBytes(sealed, Tag.AuthenticatedEncryptionTag)),
  ])
  assert.deepEqual(readBytes(opened, Tag.Data), oasisData)
  const again = await alice.do('ReKeyKeyPair', [
    textString(Tag.PrivateKeyUniqueIdentifier, 'hsm::main::EC pair'),
  ])
  const renewed = String(again.get(Tag.PrivateKeyUniqueIdentifier))
  const pair = await kms.user('alice').get(`/v1/crypto/keys/${renewed}`)
  assert.deepEqual([pair.json.hsm, pair.json.kty], ['main', 'EC'], pair.text)
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  await alice.do('Revoke', [uid(next.id), reason])
  await alice.do('Destroy', [uid(next.id)])
  await alice.fails('Encrypt', [uid(next.id), parameters(mode('GCM')), data(oasisData)], 'ObjectDestroyed')
})
