import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { enumeration, structure, type TtlvNode, textString } from '@warder/kmip/ttlv'
import { type Started, startKms } from '../../testing/index.ts'
import { readKeyBlock, unwrapKeyValue } from '../keys/index.ts'
import { attributes, kmipClient, objectType, uid } from '../testing/index.ts'
import { activeSince, aesKey, mask } from '../testing/keys.ts'

let kms: Started
before(async () => {
  kms = await startKms()
})
after(() => kms[Symbol.asyncDispose]())

function vendor(name: string, value: string, by = 'x'): TtlvNode {
  return structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, by),
    textString(Tag.AttributeName, name),
    textString(Tag.AttributeValue, value),
  ])
}

function reference(name: string, by = 'x'): TtlvNode {
  return structure(Tag.AttributeReference, [
    textString(Tag.VendorIdentification, by),
    textString(Tag.AttributeName, name),
  ])
}

const called = (name: string) => textString(Tag.AttributeName, name)
const encrypts = mask('Encrypt')

test('attributes of vendors are wrapped with the key as those of the standard are', async () => {
  const kek = randomBytes(32)
  const keys = {
    encryption: { key: { algorithm: 'AES' as const, key: createSecretKey(kek) }, parameters: undefined },
    mac: undefined,
  }
  const tags = vendor('tag', '["red"]', 'warder')
  const legacyMask = called('Cryptographic Usage Mask')
  for (const [version, names, wrapped] of [
    ['1.4', [called('x-foo'), legacyMask, called('x-none')], [vendor('foo', '1'), encrypts]],
    ['2.1', [called('x-foo'), called('CryptographicUsageMask')], [vendor('foo', '1'), encrypts]],
    [
      '2.1',
      [reference('foo'), reference('bar', 'example')],
      [vendor('foo', '1'), vendor('bar', '2', 'example')],
    ],
    ['2.1', [reference('none'), enumeration(Tag.AttributeReference, encrypts.tag)], [encrypts]],
    ['2.1', [reference('tag', 'warder')], [tags]],
  ] as const) {
    const alice = kmipClient(kms.user('alice'))
    const wrapper = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('WrapKey'), activeSince),
      aesKey(kek),
    ])
    const key = await alice.do('Register', [
      objectType('SymmetricKey'),
      attributes(encrypts, vendor('foo', '1'), vendor('bar', '2', 'example'), tags),
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
