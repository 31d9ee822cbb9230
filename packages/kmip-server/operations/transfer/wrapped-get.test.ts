import assert from 'node:assert/strict'
import { createDecipheriv, createSecretKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { softwareKey } from '@warder/crypto'
import {
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { unwrapKeyValue } from '../../key-blocks/wrap.ts'
import { activeSince, aesKey, hex, inside, keyBlock, keyOf, mask, wanted } from '../../testing/keys.ts'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const { kms, bob, alice } = await startKmipFixture()

const kek = randomBytes(32)

async function registeredKek(alice: KmipClient, ...more: readonly TtlvNode[]): Promise<string> {
  const { id } = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey'), activeSince, ...more),
    aesKey(kek),
  ])
  return id
}

function specification(id: string, ...more: readonly TtlvNode[]): TtlvNode {
  return structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [uid(id)]),
    ...more,
  ])
}

const noEncoding = enumeration(Tag.EncodingOption, Enumeration.EncodingOption.NoEncoding)

test('a key is wrapped in the format that is asked for, as Veeam asks', async () => {
  for (const version of ['1.4', '2.1'] as const) {
    const alice = kmipClient(kms.user('alice'), { version })
    const id = await registeredKek(alice)
    const secret = randomBytes(32)
    const key = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('Encrypt')),
      aesKey(secret),
    ])
    const raw = await alice.do('Get', [uid(key.id), wanted('Raw'), specification(id, noEncoding)])
    const block = readKeyBlock(raw.nodes[2] as never)
    assert.equal(block.format, 'Raw')
    // RFC 3394, opened by hand.
    const decipher = createDecipheriv('aes256-wrap', kek, Buffer.alloc(8, 0xa6))
    const opened = Buffer.concat([decipher.update(block.value as Uint8Array), decipher.final()])
    assert.equal(hex(opened), hex(secret))
    const transparent = await alice.do('Get', [
      uid(key.id),
      wanted('TransparentSymmetricKey'),
      specification(id),
    ])
    const { wrapping, value, format } = readKeyBlock(transparent.nodes[2] as never)
    assert.equal(format, 'TransparentSymmetricKey')
    assert.ok(wrapping !== undefined && value !== undefined)
    const keys = {
      encryption: {
        key: { algorithm: 'AES' as const, key: softwareKey(createSecretKey(kek)) },
        parameters: undefined,
      },
      mac: undefined,
    }
    const plain = await unwrapKeyValue(value, wrapping, keys, { fips: false })
    assert.equal(hex(inside(plain.material, Tag.Key)?.value), hex(secret))
    await alice.fails(
      'Get',
      [uid(key.id), wanted('TransparentSymmetricKey'), specification(id, noEncoding)],
      'EncodingOptionError',
    )
  }
})

test('wrapped bytes with NoEncoding may be the KeyMaterial (RFC 3394 §4.1)', async () => {
  const wrapper = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
    aesKey(Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')),
  ])
  const wrapped = Buffer.from('1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5', 'hex')
  const wrapping = (...encoding: readonly TtlvNode[]) =>
    structure(Tag.KeyWrappingData, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
      structure(Tag.EncryptionKeyInformation, [
        uid(wrapper.id),
        structure(Tag.CryptographicParameters, [
          enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.NISTKeyWrap),
        ]),
      ]),
      ...encoding,
    ])
  const sent = (...encoding: readonly TtlvNode[]) => [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt', 'Decrypt')),
    structure(Tag.SymmetricKey, [keyBlock('Raw', wrapped, ...keyOf('AES', 128), wrapping(...encoding))]),
  ]
  const { id } = await alice.do('Register', sent(noEncoding))
  const readSymmetricKey = async (...members: readonly TtlvNode[]) =>
    (await alice.do('Get', [uid(id), ...members])).nodes.find(({ tag }) => tag === Tag.SymmetricKey)
  const path = [Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial]
  assert.equal(hex(inside(await readSymmetricKey(), ...path)?.value), wrapped.toString('hex'))
  const open = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  assert.equal(hex(inside(await readSymmetricKey(open), ...path)?.value), '00112233445566778899aabbccddeeff')
  // With the usual encoding the bytes hold a KeyValue, and are one themselves.
  await alice.fails('Register', sent(), 'InvalidField')
})

test('the named attributes are wrapped with the key', async () => {
  const id = await registeredKek(alice)
  const key = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt', 'Decrypt')),
    aesKey(randomBytes(16)),
  ])
  const names = ['Cryptographic Usage Mask', 'State', 'Nothing'].map((name) =>
    textString(Tag.AttributeName, name),
  )
  const got = await alice.do('Get', [uid(key.id), specification(id, ...names)])
  const { wrapping, value } = readKeyBlock(got.nodes[2] as never)
  assert.ok(wrapping !== undefined && value !== undefined)
  const keys = {
    encryption: {
      key: { algorithm: 'AES' as const, key: softwareKey(createSecretKey(kek)) },
      parameters: undefined,
    },
    mac: undefined,
  }
  const { attributes: wrapped } = await unwrapKeyValue(value, wrapping, keys, { fips: false })
  assert.deepEqual(wrapped, [
    integer(Tag.CryptographicUsageMask, 12),
    enumeration(Tag.State, Enumeration.State.PreActive),
  ])
  const asked = [uid(key.id), specification(id, noEncoding, textString(Tag.AttributeName, 'State'))]
  await alice.fails('Get', asked, 'EncodingOptionError')
})

test('without parameters in the request the parameters of the wrapping key apply', async () => {
  const gcm = structure(Tag.CryptographicParameters, [
    enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
  ])
  const id = await registeredKek(alice, gcm)
  const key = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt')),
    aesKey(randomBytes(16)),
  ])
  const { nodes } = await alice.do('Get', [uid(key.id), specification(id)])
  assert.deepEqual(kms.audit.at(-1)?.details, { wrapping_key: id }, 'the audit log says so')
  const iv = inside(nodes[2], Tag.KeyBlock, Tag.KeyWrappingData, Tag.IVCounterNonce)?.value
  assert.ok(iv instanceof Uint8Array && iv.length === 12)
})

test('a key is wrapped for the holder of an RSA key, whatever its length', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const register = (type: 'PublicKey' | 'PrivateKey', der: Uint8Array, use: 'WrapKey' | 'UnwrapKey') =>
    alice.do('Register', [
      objectType(type),
      attributes(mask(use), activeSince),
      structure(Tag[type], [keyBlock('PKCS_1', der, ...keyOf('RSA', 2048))]),
    ])
  const open = await register('PublicKey', publicKey.export({ format: 'der', type: 'pkcs1' }), 'WrapKey')
  const secret = await register(
    'PrivateKey',
    privateKey.export({ format: 'der', type: 'pkcs1' }),
    'UnwrapKey',
  )
  const long = randomBytes(1000)
  const data = await alice.do('Register', [
    objectType('SecretData'),
    attributes(mask()),
    structure(Tag.SecretData, [
      enumeration(Tag.SecretDataType, Enumeration.SecretDataType.Password),
      keyBlock('Raw', long),
    ]),
  ])
  const information = (id: string, padding: 'None' | 'OAEP') =>
    structure(Tag.KeyWrappingSpecification, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
      structure(Tag.EncryptionKeyInformation, [
        uid(id),
        structure(Tag.CryptographicParameters, [
          enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod[padding]),
        ]),
      ]),
    ])
  await alice.fails('Get', [uid(data.id), information(open.id, 'OAEP')], 'InvalidField')
  const { nodes } = await alice.do('Get', [uid(data.id), information(open.id, 'None')])
  // It is wrapped with the public key; the importer names the private one.
  const renamed = (node: TtlvNode): TtlvNode => {
    if (node.type === 'Structure') return structure(node.tag, node.value.map(renamed))
    return node.value === open.id ? uid(secret.id) : node
  }
  const wrapped = renamed(nodes[2] as TtlvNode)
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const { id } = await alice.do('Import', [
    uid(''),
    objectType('SecretData'),
    clear,
    attributes(mask()),
    wrapped,
  ])
  const again = await alice.do('Get', [uid(id)])
  assert.equal(hex(inside(again.nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value), hex(long))
})

test('a key wrapped with a public key is unwrapped with its private key if the caller may use it', async () => {
  const pair = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [...keyOf('RSA', 2048), activeSince]),
    structure(Tag.PrivateKeyAttributes, [mask('UnwrapKey')]),
    structure(Tag.PublicKeyAttributes, [mask('WrapKey')]),
  ])
  const open = pair.get(Tag.PublicKeyUniqueIdentifier) as string
  const secret = pair.get(Tag.PrivateKeyUniqueIdentifier) as string
  const bytes = randomBytes(32)
  const symmetric = objectType('SymmetricKey')
  const encrypt = attributes(mask('Encrypt'))
  const key = await alice.do('Register', [symmetric, encrypt, aesKey(bytes)])
  const oaep = structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
    structure(Tag.EncryptionKeyInformation, [
      uid(open),
      structure(Tag.CryptographicParameters, [
        enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod.OAEP),
        enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256),
      ]),
    ]),
    noEncoding,
  ])
  const wrapped = (await alice.do('Get', [uid(key.id), oaep])).nodes[2]
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const brought = [uid(''), symmetric, clear, encrypt, wrapped]
  const { id } = await alice.do('Import', brought)
  assert.deepEqual(kms.audit.at(-1)?.details, { wrapping_key: secret })
  const again = await alice.do('Get', [uid(id)])
  const path = [Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial]
  assert.equal(hex(inside(again.nodes[2], ...path)?.value), hex(bytes))
  // Registered as it is and asked for in clear, it is opened the same way.
  const kept = await alice.do('Register', [symmetric, encrypt, wrapped])
  const opened = await alice.do('Get', [uid(kept.id), clear])
  assert.equal(hex(inside(opened.nodes[2], ...path)?.value), hex(bytes))
  // Rights on the public half are none on the private one.
  const granted = async (to: string, ...operations: readonly string[]) => {
    const grant = { unique_identifier: to, user_id: 'bob', operation_types: operations }
    assert.equal((await kms.user('alice').post('/access/grant', grant)).status, 200)
  }
  await granted(open, 'get', 'encrypt', 'decrypt')
  await bob.fails('Import', brought, 'WrappingObjectNotFound')
  await granted(secret, 'getattributes')
  await bob.fails('Import', brought, 'PermissionDenied')
  await granted(secret, 'decrypt')
  await bob.do('Import', brought)
})
