import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { Tag } from '../tables/tags.gen.ts'
import { plain } from '../testing/arbitrary.ts'
import { byteString, enumeration, structure, textString } from '../ttlv/node.ts'
import { decodeJson } from './decode.ts'
import { asksForFetchForm, encodeJsonForFetch } from './encode.ts'
import { tolerances } from './tolerances.ts'

for (const { what, client, example } of tolerances) {
  if (example === undefined) continue
  test(`Converted to the form of the standard: ${what} (${client})`, () => {
    const [sent, meant] = example.map((json) => plain(decodeJson(JSON.stringify(json))))
    assert.deepEqual(sent, meant)
  })
}

test('Invalid masks and key material are refused in this form, too', () => {
  for (const node of [
    { tag: 'CryptographicUsageMask', type: 'Enumeration', value: 'Fly' },
    { tag: 'CryptographicUsageMask', type: 'Enumeration', value: 2 ** 40 },
    {
      tag: 'KeyMaterial',
      type: 'Structure',
      value: [{ tag: 'ByteString', type: 'TextString', value: '01' }],
    },
    { tag: 'KeyMaterial', type: 'Structure', value: [{ tag: 'ByteString', type: 'ByteString', value: 'x' }] },
  ]) {
    const text = JSON.stringify({ tag: 'KeyValue', value: [node] })
    assert.throws(() => decodeJson(text), { name: 'KmipDecodeError' })
  }
})

const block = (value: Parameters<typeof structure>[1][number]) =>
  structure(Tag.ResponsePayload, [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
    textString(Tag.UniqueIdentifier, 'one'),
    structure(Tag.SymmetricKey, [
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.PKCS_8),
        value,
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.HMAC_SHA256),
      ]),
    ]),
  ])

test('A response in the form of cloudproof_kms_js names the object Object, with Attributes in its KeyValue', () => {
  const beside = {
    tag: 'Attributes',
    type: 'Structure',
    value: [
      { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
      { tag: 'KeyFormatType', type: 'Enumeration', value: 'PKCS8' },
      { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'HMACSHA256' },
    ],
  }
  const material = { tag: 'KeyMaterial', type: 'ByteString', value: '0102' }
  const clear = structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, Uint8Array.of(1, 2))])
  for (const value of [clear, byteString(Tag.KeyValue, Uint8Array.of(1, 2))]) {
    const answer = JSON.parse(encodeJsonForFetch('GetResponse', block(value)))
    const object = answer.value[2]
    assert.deepEqual([answer.tag, object.tag, object.value[0].tag], ['GetResponse', 'Object', 'KeyBlock'])
    assert.deepEqual(object.value[0].value[1], {
      tag: 'KeyValue',
      type: 'Structure',
      value: [material, beside],
    })
  }
})

test('In this form the result of Locate is a list, even if it is empty', () => {
  for (const ids of [[], ['one'], ['one', 'two']]) {
    const nodes = ids.map((id) => textString(Tag.UniqueIdentifier, id))
    const { value } = JSON.parse(encodeJsonForFetch('LocateResponse', structure(Tag.ResponsePayload, nodes)))
    assert.deepEqual(
      value.map(({ tag, value: list }: { tag: string; value: readonly { value: string }[] }) => [
        tag,
        list.map((id) => id.value),
      ]),
      [['UniqueIdentifier', ids]],
    )
  }
})

test('Only a Fetch client with exactly this content type gets this form', () => {
  const type = 'application/json; charset=utf-8'
  assert.equal(asksForFetchForm({ 'content-type': type, 'sec-fetch-mode': 'cors' }), true)
  assert.equal(asksForFetchForm({ 'content-type': type }), false)
  assert.equal(asksForFetchForm({ 'content-type': 'application/json', 'sec-fetch-mode': 'cors' }), false)
  assert.equal(asksForFetchForm({}), false)
})
