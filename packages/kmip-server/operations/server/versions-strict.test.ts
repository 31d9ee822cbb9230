import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Enumeration, enumeration, integer, kmipVersions, structure, Tag } from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { kmipClient } from '../../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey } from '../../testing/requests.ts'

// Requests that one version refuses and another does not.

const kms = await startSharedKms()

test('GetAttributes with a name twice is InvalidMessage over 1.1 to 1.4', async () => {
  const id = await createAesKey(kmipClient(kms.user('alice')))
  const state = enumeration(Tag.AttributeReference, Tag.State)
  const length = enumeration(Tag.AttributeReference, Tag.CryptographicLength)
  for (const version of kmipVersions) {
    const alice = kmipClient(kms.user('alice'), { version })
    await alice.do('GetAttributes', [uid(id), state, length])
    const twice = [uid(id), state, length, state]
    if (version.startsWith('2') || version === '1.0') await alice.do('GetAttributes', twice)
    else
      assert.equal(
        await alice.fails('GetAttributes', twice, 'InvalidMessage'),
        'An attribute name appears twice.',
      )
  }
})

test('an empty TemplateAttribute, as PyKMIP sends it, is ignored in 2.0 and refused in 2.1', async () => {
  const request = [objectType('SymmetricKey'), aesAttributes(256), structure(Tag.TemplateAttribute, [])]
  await kmipClient(kms.user('alice'), { version: '2.0' }).do('Create', request)
  await kmipClient(kms.user('alice'), { version: '2.1' }).fails('Create', request, 'InvalidField')
})

test('a request of 2.x with a TemplateAttribute is refused, and creates nothing', async () => {
  for (const version of ['2.0', '2.1'] as const) {
    const alice = kmipClient(kms.user('alice'), { version })
    const located = async () => (await alice.do('Locate')).nodes.length
    const before = await located()
    const old = structure(Tag.TemplateAttribute, [integer(Tag.CryptographicUsageMask, 12)])
    const sentence = await alice.fails(
      'Create',
      [objectType('SymmetricKey'), aesAttributes(256), old],
      'InvalidField',
    )
    assert.equal(sentence, 'TemplateAttribute exists only in KMIP 1.x: use Attributes in 2.x.')
    const common = structure(Tag.CommonTemplateAttribute, [integer(Tag.CryptographicUsageMask, 1)])
    const algorithm = enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC)
    await alice.fails('CreateKeyPair', [structure(Tag.CommonAttributes, [algorithm]), common], 'InvalidField')
    assert.equal(await located(), before)
  }
})
