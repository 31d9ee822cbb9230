import assert from 'node:assert/strict'
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
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
import { readKeyBlock } from '../../key-blocks/key-block.ts'
import { unwrapKeyValue } from '../../key-blocks/wrap.ts'
import { activeSince, aesKey, inside, keyBlock, keyOf, mask, same } from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid, vendorAttribute } from '../../testing/nodes.ts'

const { kms, alice } = await startKmipFixture()

const vendor = (name: string, value: string, by = 'x') =>
  vendorAttribute(by, name, textString(Tag.AttributeValue, value))

function reference(name: string, by = 'x'): TtlvNode {
  return structure(Tag.AttributeReference, [
    textString(Tag.VendorIdentification, by),
    textString(Tag.AttributeName, name),
  ])
}

/** An attribute as 1.x writes it. */
function legacy(name: string, value: TtlvNode, index?: number): TtlvNode {
  return structure(Tag.Attribute, [
    called(name),
    index === undefined ? undefined : integer(Tag.AttributeIndex, index),
    { ...value, tag: Tag.AttributeValue },
  ])
}

const called = (name: string) => textString(Tag.AttributeName, name)
const encrypts = mask('Encrypt')
const group = (name: string) => textString(Tag.ObjectGroup, name)

test('vendor attributes are wrapped with the key like standard attributes', async () => {
  const kek = randomBytes(32)
  const keys = {
    encryption: {
      key: { algorithm: 'AES' as const, key: softwareKey(createSecretKey(kek)) },
      parameters: undefined,
    },
    mac: undefined,
  }
  const tags = vendor('tag', '["red"]', 'warder')
  const legacyMask = called('Cryptographic Usage Mask')
  for (const [version, names, wrapped] of [
    [
      '1.4',
      [called('x-foo'), legacyMask, called('x-none'), called('Object Group'), called('Rotate Name')],
      [
        legacy('x-foo', textString(Tag.AttributeValue, '1')),
        legacy('Cryptographic Usage Mask', encrypts),
        legacy('Object Group', group('a')),
        legacy('Object Group', group('b'), 1),
      ],
    ],
    ['2.1', [called('x-foo'), called('CryptographicUsageMask')], [vendor('foo', '1'), encrypts]],
    [
      '2.1',
      [reference('foo'), reference('bar', 'example')],
      [vendor('foo', '1'), vendor('bar', '2', 'example')],
    ],
    ['2.1', [reference('none'), enumeration(Tag.AttributeReference, encrypts.tag)], [encrypts]],
    ['2.1', [reference('tag', 'warder')], [tags]],
  ] as const) {
    const wrapper = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('WrapKey'), activeSince),
      aesKey(kek),
    ])
    const key = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(encrypts, group('a'), group('b'), vendor('foo', '1'), vendor('bar', '2', 'example'), tags),
      aesKey(randomBytes(16)),
    ])
    const specification = structure(Tag.KeyWrappingSpecification, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
      structure(Tag.EncryptionKeyInformation, [uid(wrapper.id)]),
      ...names,
    ])
    const { nodes } = await kmipClient(kms.user('alice'), { version }).do('Get', [uid(key.id), specification])
    const { wrapping, value } = readKeyBlock(nodes[2] as never)
    assert.ok(wrapping !== undefined && value !== undefined)
    const opened = await unwrapKeyValue(value, wrapping, keys, { fips: false })
    assert.deepEqual(opened.attributes, wrapped)
  }
})

test('a MAC covers the KeyValue as the client encodes it, with attributes in the form of its version', async () => {
  const secret = randomBytes(32)
  const macOf = (node: TtlvNode | undefined) => {
    assert.ok(node)
    return createHmac('sha256', secret).update(encodeTtlv(node)).digest()
  }
  for (const version of ['1.2', '1.4', '2.1'] as const) {
    const alice = kmipClient(kms.user('alice'), { version })
    const { id } = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('MACGenerate', 'MACVerify'), activeSince),
      structure(Tag.SymmetricKey, [keyBlock('Raw', secret, ...keyOf('HMAC_SHA256', 256))]),
    ])
    const key = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(encrypts, group('a')),
      aesKey(randomBytes(16)),
    ])
    const method = enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.MACSign)
    const by = structure(Tag.MACSignatureKeyInformation, [uid(id)])
    const named =
      version === '2.1' ? enumeration(Tag.AttributeReference, Tag.ObjectGroup) : called('Object Group')
    const specification = structure(Tag.KeyWrappingSpecification, [method, by, named])
    const { nodes } = await alice.do('Get', [uid(key.id), specification])
    const value = inside(nodes[2], Tag.KeyBlock, Tag.KeyValue)
    const mac = inside(nodes[2], Tag.KeyBlock, Tag.KeyWrappingData, Tag.MACSignature)
    assert.ok(value?.type === 'Structure' && value.value.length === 2)
    same(mac, byteString(Tag.MACSignature, macOf(value)))
    // It is kept and given back as it came, and opened where the client asks for that (Import came with 1.4).
    assert.ok(nodes[2])
    const again = await alice.do('Register', [objectType('SymmetricKey'), attributes(encrypts), nodes[2]])
    same((await alice.do('Get', [uid(again.id)])).nodes[2], nodes[2])
    const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
    if (version === '1.2') continue
    const imported = [uid(`opened-${version}`), objectType('SymmetricKey'), clear, attributes(), nodes[2]]
    await alice.do('Import', imported)
  }
})
