import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { findMask } from '../tables/enumerations.ts'
import { Tag } from '../tables/tags.gen.ts'
import { anyTree, plain } from '../testing/arbitrary.ts'
import { type KmipDecodeCode, KmipDecodeError, KmipEncodeError } from '../ttlv/error.ts'
import {
  bigInteger,
  byteString,
  dateTime,
  enumeration,
  integer,
  longInteger,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import { decodeJson } from './decode.ts'
import { encodeJson } from './encode.ts'

/** A structure of nothing but structures of its own tag: no message has one, and clients that send one mean a list. */
const holdsItself = ({ tag, value }: TtlvNode): boolean =>
  Array.isArray(value) &&
  ((value.length > 0 && value.every((member) => member.tag === tag)) || value.some(holdsItself))

/** A mask that is called an Enumeration: no message has one, and clients that send one mean the mask. */
const misnamesMask = ({ tag, type, value }: TtlvNode): boolean =>
  (type === 'Enumeration' && findMask(tag) !== undefined) ||
  (Array.isArray(value) && value.some(misnamesMask))

test('Every tree survives JSON', () => {
  fc.assert(
    fc.property(anyTree, (tree) => {
      fc.pre(!holdsItself(tree) && !misnamesMask(tree))
      assert.deepEqual(plain(decodeJson(encodeJson(tree))), plain(tree))
    }),
    { numRuns: 500 },
  )
})

/** The node of one item written as JSON. */
const item = (tag: string, type: string, value: unknown): TtlvNode =>
  decodeJson(JSON.stringify({ tag, type, value }))

test('JSON output has a fixed order of members, names, hex digits and dates', () => {
  const written: readonly (readonly [TtlvNode, string])[] = [
    [integer(Tag.CryptographicUsageMask, 12), '{"tag":"CryptographicUsageMask","type":"Integer","value":12}'],
    [enumeration(Tag.KeyFormatType, 4), '{"tag":"KeyFormatType","type":"Enumeration","value":"PKCS_8"}'],
    [
      enumeration(Tag.KeyFormatType, 0x80000abc),
      '{"tag":"KeyFormatType","type":"Enumeration","value":"0x80000ABC"}',
    ],
    [
      enumeration(Tag.AttributeReference, Tag.State),
      '{"tag":"AttributeReference","type":"Enumeration","value":"State"}',
    ],
    [byteString(Tag.Data, Buffer.from([0xab, 1])), '{"tag":"Data","type":"ByteString","value":"AB01"}'],
    [
      longInteger(Tag.UsageLimitsTotal, -2n),
      '{"tag":"UsageLimitsTotal","type":"LongInteger","value":"0xFFFFFFFFFFFFFFFE"}',
    ],
    [
      bigInteger(Tag.PublicExponent, Buffer.from([1, 0, 1])),
      '{"tag":"PublicExponent","type":"BigInteger","value":"0x0000000000010001"}',
    ],
    [
      bigInteger(Tag.PublicExponent, Buffer.from([0x80])),
      '{"tag":"PublicExponent","type":"BigInteger","value":"0xFFFFFFFFFFFFFF80"}',
    ],
    [
      dateTime(Tag.InitialDate, 1780055855),
      '{"tag":"InitialDate","type":"DateTime","value":"2026-05-29T11:57:35Z"}',
    ],
    [
      textString(Tag.NameValue, 'a"\n\u2028'),
      `{"tag":"NameValue","type":"TextString","value":${JSON.stringify('a"\n\u2028')}}`,
    ],
    [structure(0x540001, []), '{"tag":"Remove","type":"Structure","value":[]}'],
    [structure(0x54abcd, []), '{"tag":"0x54ABCD","type":"Structure","value":[]}'],
  ]
  for (const [node, text] of written) assert.equal(encodeJson(node), text)
})

test('Every form of a value that clients send is read', () => {
  assert.equal(item('CryptographicUsageMask', 'Integer', 12).value, 12)
  assert.equal(item('CryptographicUsageMask', 'Integer', '0x0000000C').value, 12)
  assert.equal(item('CryptographicUsageMask', 'Integer', '0x000000000000000C').value, 12)
  assert.equal(item('CryptographicUsageMask', 'Integer', 'Encrypt|Decrypt').value, 12)
  assert.equal(item('CryptographicUsageMask', 'Integer', 'encrypt  Decrypt').value, 12)
  assert.equal(item('CryptographicLength', 'Integer', '0xFFFFFFFF').value, -1)
  assert.equal(item('CryptographicAlgorithm', 'Enumeration', 'aes').value, 3)
  assert.equal(item('CryptographicAlgorithm', 'Enumeration', '0x00000003').value, 3)
  assert.equal(item('CryptographicAlgorithm', 'Enumeration', 3).value, 3)
  assert.equal(item('HashingAlgorithm', 'Enumeration', 'SHA256').value, 6)
  assert.equal(item('HashingAlgorithm', 'Enumeration', 'SHA_256').value, 6)
  assert.equal(
    item('AttributeReference', 'Enumeration', 'Cryptographic Algorithm').value,
    Tag.CryptographicAlgorithm,
  )
  assert.equal(item('AttributeReference', 'Enumeration', '0x42008D').value, Tag.State)
  assert.equal(item('UsageLimitsTotal', 'LongInteger', 5).value, 5n)
  assert.equal(item('UsageLimitsTotal', 'LongInteger', '0x00000005').value, 5n)
  assert.equal(item('Fresh', 'Boolean', '0x0000000000000001').value, true)
  assert.equal(item('InitialDate', 'DateTime', '2026-05-29T13:57:35+02:00').value, 1780055855)
  assert.equal(item('InitialDate', 'DateTime', '2026-05-29T11:57:35.123Z').value, 1780055855)
  assert.equal(item('InitialDate', 'DateTime', '0x000000006A197F2F').value, 1780055855)
  assert.deepEqual([...(item('Data', 'ByteString', 'aBcD').value as Uint8Array)], [0xab, 0xcd])
  assert.equal(item('Mac' + 'Data', 'ByteString', '').tag, Tag.MACData)
  assert.equal(item('0x420094', 'TextString', 'u').tag, Tag.UniqueIdentifier)
  assert.equal(decodeJson('{"value":[],"extra":1,"tag":"Attributes"}').type, 'Structure')
  assert.equal(decodeJson('{"value":3,"type":"integer","tag":"BatchCount"}').value, 3)
})

function refused(text: string | Uint8Array, reason: KmipDecodeCode): void {
  assert.throws(
    () => decodeJson(text),
    (error) => error instanceof KmipDecodeError && error.code === reason,
    `${reason}: ${text.slice(0, 60)}`,
  )
}

const one = (tag: string, type: string, value: unknown): string => JSON.stringify({ tag, type, value })

test('JSON that is not a message is refused with a reason', () => {
  refused('', 'malformed_json')
  refused('{', 'malformed_json')
  refused('[]', 'malformed_json')
  refused('null', 'malformed_json')
  refused('{"tag":1}', 'malformed_json')
  refused('{"tag":"Name","type":1}', 'malformed_json')
  refused(one('Attributes', 'Structure', {}), 'malformed_json')
  refused('{"tag":"Attributes","value":"text"}', 'malformed_json')
  refused(one('Attributes', 'Structure', [1]), 'malformed_json')
  refused(one('Nonsense', 'Integer', 1), 'unknown_tag')
  refused(one('__proto__', 'Integer', 1), 'unknown_tag')
  refused(one('BatchCount', 'Number', 1), 'unknown_type')
  refused(one('BatchCount', 'Integer', 2 ** 31), 'invalid_value')
  refused(one('BatchCount', 'Integer', 1.5), 'invalid_value')
  refused(one('BatchCount', 'Integer', 'Encrypt'), 'invalid_value')
  refused(one('CryptographicUsageMask', 'Integer', 'Encrypt|Nonsense'), 'invalid_value')
  refused(one('UsageLimitsTotal', 'LongInteger', 2 ** 53), 'invalid_value')
  refused(one('LeaseTime', 'Interval', -1), 'invalid_value')
  refused(one('LeaseTime', 'Interval', '0xFFFFFFFFFFFFFFFF'), 'invalid_value')
  refused(one('State', 'Enumeration', 'Nonsense'), 'unknown_enumeration')
  refused(one('State', 'Enumeration', 'constructor'), 'unknown_enumeration')
  refused(one('State', 'Enumeration', -1), 'invalid_value')
  refused(one('State', 'Enumeration', null), 'invalid_value')
  refused(one('Fresh', 'Boolean', 2), 'invalid_value')
  refused(one('Data', 'ByteString', 'abc'), 'invalid_value')
  refused(one('Data', 'ByteString', '0xab'), 'invalid_value')
  refused(one('Data', 'ByteString', 'zz'), 'invalid_value')
  refused(one('Modulus', 'BigInteger', '0001'), 'invalid_value')
  refused(one('Modulus', 'BigInteger', '0x'), 'invalid_value')
  refused(one('NameValue', 'TextString', 5), 'invalid_value')
  refused('{"tag":"NameValue","type":"TextString","value":"\\ud800"}', 'invalid_value')
  refused(one('InitialDate', 'DateTime', '2026-02-30T00:00:00Z'), 'invalid_value')
  refused(one('InitialDate', 'DateTime', '2026-02-03T00:00:00'), 'invalid_value')
  refused(one('InitialDate', 'DateTime', '0x7FFFFFFFFFFFFFFF'), 'invalid_value')
  refused(Buffer.from([0x22, 0xff, 0x22]), 'invalid_text')
})

test('Nesting and number of items are bounded, however deep the JSON is', () => {
  const deep = (levels: number): string =>
    `${'{"tag":"Attributes","value":['.repeat(levels)}${']}'.repeat(levels)}`
  const alternating = (levels: number): string =>
    `${'{"tag":"Attributes","value":[{"tag":"Name","value":['.repeat(levels)}${']}]}'.repeat(levels)}`
  assert.equal(decodeJson(alternating(32)).tag, Tag.Attributes)
  refused(alternating(33), 'too_deep')
  refused(alternating(20_000), 'too_deep')
  refused('['.repeat(1_000_000), 'malformed_json')
  refused(deep(500_000), 'too_deep')
  refused(
    JSON.stringify({ tag: 'Attributes', value: new Array(65_536).fill({ tag: 'Name' }) }),
    'too_many_items',
  )
  assert.throws(() => encodeJson(nest(65)), KmipEncodeError)
})

function nest(levels: number): StructureNode {
  return structure(Tag.Attributes, levels === 1 ? [] : [nest(levels - 1)])
}

test('In 1.x the attribute name determines the enumeration or mask of the value, in any order', () => {
  const attribute = (name: string, type: string, value: unknown, nameFirst: boolean): TtlvNode => {
    const members = [one('AttributeName', 'TextString', name), one('AttributeValue', type, value)]
    const text = `{"tag":"Attribute","value":[${(nameFirst ? members : members.reverse()).join(',')}]}`
    const decoded = decodeJson(text)
    assert.equal(decoded.type, 'Structure')
    const found = (decoded as StructureNode).value.find(({ tag }) => tag === Tag.AttributeValue)
    assert.ok(found)
    return found
  }
  for (const nameFirst of [true, false]) {
    assert.equal(attribute('Cryptographic Algorithm', 'Enumeration', 'AES', nameFirst).value, 3)
    assert.equal(attribute('Cryptographic Usage Mask', 'Integer', 'Sign', nameFirst).value, 1)
    assert.equal(attribute('State', 'Enumeration', 'Active', nameFirst).value, 2)
  }
  assert.throws(() => attribute('x-Mine', 'Enumeration', 'AES', true), KmipDecodeError)
})

test('Extra structures of older clients are unwrapped', () => {
  const tags = (text: string): readonly number[] => {
    const node = decodeJson(text)
    return node.type === 'Structure' ? node.value.map(({ tag }) => tag) : []
  }
  const vendor = `{"tag":"%","value":[${one('VendorIdentification', 'TextString', 'x')}]}`
  for (const inner of ['VendorAttributes', 'Attribute', 'VendorAttribute'])
    assert.deepEqual(
      tags(
        `{"tag":"Attributes","value":[{"tag":"VendorAttributes","value":[${vendor.replace('%', inner).repeat(1)}]}]}`,
      ),
      [Tag.Attribute],
    )
  assert.deepEqual(tags(`{"tag":"Attributes","value":[${vendor.replace('%', 'VendorAttributes')}]}`), [
    Tag.Attribute,
  ])
  const link = '{"tag":"Link","value":[]}'
  assert.deepEqual(tags(`{"tag":"Attributes","value":[{"tag":"Link","value":[${link},${link}]}]}`), [
    Tag.Link,
    Tag.Link,
  ])
  assert.deepEqual(
    tags(
      `{"tag":"Attributes","value":[{"tag":"CertificateAttributes","value":[${one('CertificateSubjectCn', 'TextString', 'a')}]}]}`,
    ),
    [Tag.CertificateSubjectCN],
  )
  const object = '{"tag":"Object","value":[{"tag":"KeyBlock","value":[]}]}'
  for (const type of ['SymmetricKey', '0x00000002', 2])
    assert.deepEqual(
      tags(`{"tag":"RequestPayload","value":[${object},${one('ObjectType', 'Enumeration', type)}]}`),
      [Tag.SymmetricKey, Tag.ObjectType],
    )
  refused(`{"tag":"RequestPayload","value":[${object}]}`, 'wrong_member')
})

test('Names with the same spelling are distinguished by their tag', () => {
  assert.equal(
    item('HashingAlgorithm', 'Enumeration', 'SHA3256').value,
    Enumeration.HashingAlgorithm.SHA3_256,
  )
  assert.equal(
    item('CryptographicAlgorithm', 'Enumeration', 'SHA3256').value,
    Enumeration.CryptographicAlgorithm.SHA3_256,
  )
})

test('A member name with an escape is refused, an escape in a value is not', () => {
  const sound = '{"tag":"Comment", "type":"TextString", "value":"a\\\\\\":\\u003a\\\\"}'
  assert.equal(decodeJson(sound).value, 'a\\":\u003a\\')
  const escaped = {
    name: 'KmipDecodeError',
    code: 'malformed_json',
    message: /name must not contain an escape/,
  }
  for (const text of [
    sound.replace('"tag"', '"t\\u0061g"'),
    sound.replace('"value"', '"valu\\u0065"\r\n\t '),
    sound.replace('{', '{"a":"\\"","\\\\" : 1,'),
    sound.replace('{', '{"a":{"\\"":1},'),
  ])
    assert.throws(() => decodeJson(text), escaped, text)
})

test('A refused text does not change how a later text is read', () => {
  const text = (name: string): string => `{"kmip":0,"${name}":0}`
  for (let times = 0; times < 5; times++) assert.throws(() => decodeJson(text('\\\\u0')))
  assert.deepEqual(JSON.parse(text('\\u0061bc')), { kmip: 0, abc: 0 })
})
