import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSharedKms } from '@warder/kms/testing'

// Import as the interface specification of the service shows it: KeyWrappingData holds WrappingMethod
// and IVCounterNonce and does not say which key wrapped.

const kms = await startSharedKms()

const text = (tag: string, value: string) => ({ tag, type: 'TextString', value })
const bytes = (tag: string, value: string) => ({ tag, type: 'ByteString', value })
const named = (tag: string, value: string) => ({ tag, type: 'Enumeration', value })
const wrappedBytes = '0102030405060708090a0b0c0d0e0f101112131415161718'

const values: Readonly<Record<string, object>> = {
  'a ByteString': bytes('KeyValue', wrappedBytes),
  'the KeyMaterial of a Structure': {
    tag: 'KeyValue',
    type: 'Structure',
    value: [bytes('KeyMaterial', wrappedBytes)],
  },
  'the Key of a transparent KeyMaterial': {
    tag: 'KeyValue',
    type: 'Structure',
    value: [{ tag: 'KeyMaterial', type: 'Structure', value: [bytes('Key', wrappedBytes)] }],
  },
}

const wrapping = (...more: readonly object[]) => ({
  tag: 'KeyWrappingData',
  type: 'Structure',
  value: [named('WrappingMethod', 'Encrypt'), bytes('IVCounterNonce', '000102030405060708090a0b'), ...more],
})

/** KeyFormatType that these bytes come in. */
const formatOf = (value: object) =>
  JSON.stringify(value).includes('"Key"') ? 'TransparentSymmetricKey' : 'Raw'

const imported = (id: string, value: object, wrapType: string, data: object = wrapping()) => ({
  tag: 'Import',
  type: 'Structure',
  value: [
    text('UniqueIdentifier', id),
    named('ObjectType', 'SymmetricKey'),
    { tag: 'ReplaceExisting', type: 'Boolean', value: true },
    named('KeyWrapType', wrapType),
    { tag: 'Attributes', type: 'Structure', value: [named('CryptographicAlgorithm', 'AES')] },
    {
      tag: 'Object',
      type: 'Structure',
      value: [
        {
          tag: 'KeyBlock',
          type: 'Structure',
          value: [
            named('KeyFormatType', formatOf(value)),
            value,
            named('CryptographicAlgorithm', 'AES'),
            { tag: 'CryptographicLength', type: 'Integer', value: 128 },
            data,
          ],
        },
      ],
    },
  ],
})

const get = (id: string, ...more: readonly object[]) => ({
  tag: 'Get',
  type: 'Structure',
  value: [text('UniqueIdentifier', id), ...more],
})

const missing = 'The key cannot be unwrapped: its KeyWrappingData has no EncryptionKeyInformation.'

for (const [name, value] of Object.entries(values)) {
  for (const path of ['/kmip/2_1', '/kmip/1_4']) {
    test(`${path}: a wrapped key that does not name its wrapping key is stored unchanged: its bytes are ${name}`, async () => {
      const alice = kms.user('alice')
      const id = `wrapped-${Object.keys(values).indexOf(name)}-${path.at(-1)}`
      const done = await alice.post('/kmip/2_1', imported(id, value, 'AsRegistered'))
      assert.equal(done.status, 200, done.text)
      const got = await alice.post(path, get(id))
      assert.equal(got.status, 200, got.text)
      assert.ok(got.text.toLowerCase().includes(wrappedBytes))
      assert.ok(got.text.includes('KeyWrappingData'))
      const opened = await alice.post(path, get(id, named('KeyWrapType', 'NotWrapped')))
      assert.equal(opened.status, 422, opened.text)
      assert.equal(opened.json.description, missing)
      const used = await alice.post('/kmip/2_1', {
        tag: 'Encrypt',
        value: [text('UniqueIdentifier', id), bytes('Data', '00')],
      })
      assert.equal(used.status, 422, used.text)
    })
  }
}

test('Import of a wrapped key that cannot be unwrapped names the missing member, and nothing is stored', async () => {
  const alice = kms.user('alice')
  const refused = await alice.post(
    '/kmip/2_1',
    imported('to-unwrap', bytes('KeyValue', wrappedBytes), 'NotWrapped'),
  )
  assert.deepEqual(
    [refused.status, refused.json.result_reason, refused.json.description],
    [422, 'KeyValueNotPresent', missing],
  )
  assert.equal((await alice.post('/kmip/2_1', get('to-unwrap'))).status, 404)
})

test('wrapping data that contradict their method are refused', async () => {
  const alice = kms.user('alice')
  const mac = {
    tag: 'MACSignatureKeyInformation',
    type: 'Structure',
    value: [text('UniqueIdentifier', 'some key')],
  }
  const refused = await alice.post(
    '/kmip/2_1',
    imported('contradicting', bytes('KeyValue', wrappedBytes), 'AsRegistered', wrapping(mac)),
  )
  assert.deepEqual([refused.status, refused.json.result_reason], [400, 'InvalidField'])
})
