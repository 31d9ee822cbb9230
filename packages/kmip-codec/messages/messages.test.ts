import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AttributeRow, attributeIn, attributes } from '../tables/attributes.ts'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { Tag } from '../tables/tags.gen.ts'
import { isLegacy, type KmipVersion, kmipVersions, versionNumbers } from '../tables/versions.ts'
import { plain } from '../testing/arbitrary.ts'
import { decodeTtlv } from '../ttlv/decode.ts'
import { encodeTtlv } from '../ttlv/encode.ts'
import { KmipDecodeError, KmipEncodeError } from '../ttlv/error.ts'
import { findMember, optional, requireMember } from '../ttlv/members.ts'
import {
  boolean,
  byteString,
  dateTime,
  enumeration,
  integer,
  interval,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import { readResponse } from './client.ts'
import {
  contentTypes,
  decodeRequest,
  encodeNode,
  encodeResponse,
  findEncoding,
  toErrorResponse,
} from './codec.ts'
import type { Encoding, RequestMessage, ResponseItem } from './types.ts'

const header = (
  { major, minor }: { readonly major: number; readonly minor: number },
  count: number,
  more: readonly TtlvNode[] = [],
): StructureNode =>
  structure(Tag.RequestHeader, [
    structure(Tag.ProtocolVersion, [
      integer(Tag.ProtocolVersionMajor, major),
      integer(Tag.ProtocolVersionMinor, minor),
    ]),
    ...more,
    integer(Tag.BatchCount, count),
  ])

const item = (operation: keyof typeof Enumeration.Operation, payload: readonly TtlvNode[]): StructureNode =>
  structure(Tag.BatchItem, [
    enumeration(Tag.Operation, Enumeration.Operation[operation]),
    byteString(Tag.UniqueBatchItemID, Buffer.from('id')),
    structure(Tag.RequestPayload, payload),
  ])

/** Reads one operation of a version through the binary form. */
function read(
  version: KmipVersion,
  operation: keyof typeof Enumeration.Operation,
  payload: readonly TtlvNode[],
): RequestMessage['items'][0] {
  const message = structure(Tag.RequestMessage, [
    header(versionNumbers(version), 1),
    item(operation, payload),
  ])
  const [first] = decodeRequest(encodeTtlv(message), 'ttlv').items
  assert.ok(first)
  return first
}

/** Writes one reply for a version and reads its payload back as it is on the wire. */
function written(version: KmipVersion, reply: ResponseItem): StructureNode {
  const bytes = encodeResponse({ version, bare: false, timeStamp: 1, items: [reply] }, 'ttlv')
  const message = decodeTtlv(bytes)
  assert.equal(message.type, 'Structure')
  const batchItem = findMember(message as StructureNode, Tag.BatchItem)
  assert.equal(batchItem?.type, 'Structure')
  return batchItem as StructureNode
}

const payloadOf = (batchItem: StructureNode): StructureNode => {
  const payload = findMember(batchItem, Tag.ResponsePayload)
  assert.equal(payload?.type, 'Structure')
  return payload as StructureNode
}

const legacy = (name: string, value: (tag: number) => TtlvNode, index?: number): StructureNode =>
  structure(Tag.Attribute, [
    textString(Tag.AttributeName, name),
    index === undefined ? undefined : integer(Tag.AttributeIndex, index),
    value(Tag.AttributeValue),
  ])

const aes = (tag: number): TtlvNode => enumeration(tag, 3)
const named = (text: string) => (tag: number) =>
  structure(tag, [textString(Tag.NameValue, text), enumeration(Tag.NameType, 1)])
const vendorAttribute = (vendor: string, name: string, value: string): StructureNode =>
  structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, name),
    textString(Tag.AttributeValue, value),
  ])

test('Header fields are decoded in 1.x and 2.x', () => {
  const message = (version: KmipVersion, more: readonly TtlvNode[]): RequestMessage =>
    decodeRequest(
      encodeTtlv(
        structure(Tag.RequestMessage, [
          header(versionNumbers(version), 2, more),
          item('Query', []),
          item('Query', []),
        ]),
      ),
      'ttlv',
    )
  const modern = message('2.1', [
    integer(Tag.MaximumResponseSize, 256),
    textString(Tag.ClientCorrelationValue, 'c'),
    enumeration(Tag.AsynchronousIndicator, 1),
    enumeration(Tag.BatchErrorContinuationOption, 3),
    boolean(Tag.BatchOrderOption, true),
    structure(Tag.Authentication, []),
  ])
  assert.equal(modern.version, '2.1')
  assert.deepEqual(
    { ...modern.header, authentication: modern.header.authentication?.tag },
    {
      maximumResponseSize: 256,
      clientCorrelationValue: 'c',
      serverCorrelationValue: undefined,
      asynchronous: 'Mandatory',
      batchErrorContinuation: 'Undo',
      batchOrder: true,
      timeStamp: undefined,
      authentication: Tag.Authentication,
    },
  )
  assert.deepEqual([...(modern.items[0]?.uniqueBatchItemId ?? [])], [...Buffer.from('id')])
  const old = message('1.0', [boolean(Tag.AsynchronousIndicator, false)])
  assert.equal(old.header.asynchronous, 'Prohibited')
})

function refusedRequest(node: TtlvNode): KmipDecodeError {
  try {
    decodeRequest(encodeTtlv(node), 'ttlv', { batchItems: 3 })
  } catch (error) {
    assert.ok(error instanceof KmipDecodeError)
    return error
  }
  throw new Error('the request was read')
}

test('A message that is not a request is refused, with its version if it has one', () => {
  const two = { major: 2, minor: 1 }
  const query = item('Query', [])
  const outcome = (node: TtlvNode): unknown[] => {
    const { code: reason, version } = refusedRequest(node)
    return [reason, version?.major]
  }
  assert.deepEqual(outcome(structure(Tag.ResponseMessage, [])), ['wrong_member', undefined])
  assert.deepEqual(outcome(structure(Tag.RequestMessage, [])), ['missing_member', undefined])
  assert.deepEqual(outcome(structure(Tag.RequestMessage, [header(two, 2), query])), ['wrong_member', 2])
  assert.deepEqual(outcome(structure(Tag.RequestMessage, [header(two, 0)])), ['wrong_member', 2])
  assert.deepEqual(outcome(structure(Tag.RequestMessage, [header(two, 4), query, query, query, query])), [
    'too_many_items',
    2,
  ])
  assert.deepEqual(outcome(structure(Tag.RequestMessage, [header({ major: 3, minor: 0 }, 1), query])), [
    'unsupported_version',
    3,
  ])
  assert.deepEqual(
    outcome(
      structure(Tag.RequestMessage, [
        header(two, 1),
        structure(Tag.BatchItem, [enumeration(Tag.Operation, 0x99)]),
      ]),
    ),
    ['unknown_operation', 2],
  )
})

test('The response to an unreadable request is one failed item in a version that the client reads', () => {
  const answer = (error: KmipDecodeError) =>
    readResponse(decodeTtlv(encodeResponse(toErrorResponse(error, 77), 'ttlv')))
  const future = answer(new KmipDecodeError('unsupported_version', 'No.', { major: 3, minor: 0 }))
  assert.equal(future.version, '2.1')
  assert.equal(future.timeStamp, 77)
  assert.equal(future.items[0]?.reason, 'UnsupportedProtocolVersion')
  const old = answer(new KmipDecodeError('wrong_member', 'No.', { major: 1, minor: 2 }))
  assert.equal(old.version, '1.2')
  assert.deepEqual(
    [old.items[0]?.operation, old.items[0]?.status, old.items[0]?.reason],
    [undefined, 'OperationFailed', 'InvalidMessage'],
  )
  assert.equal(answer(new KmipDecodeError('truncated', 'No.')).version, '1.0')
  assert.equal(
    answer(new KmipDecodeError('unsupported_version', 'No.', { major: 1, minor: 9 })).version,
    '1.4',
  )
  assert.equal(
    answer(new KmipDecodeError('unsupported_version', 'No.', { major: 1, minor: 9 })).items[0]?.reason,
    'InvalidMessage',
  )
})

test('Templates of 1.x become attributes', () => {
  const { payload } = read('1.2', 'Create', [
    enumeration(Tag.ObjectType, 2),
    structure(Tag.TemplateAttribute, [
      legacy('Cryptographic Algorithm', aes),
      legacy('Name', named('a')),
      legacy('Name', named('b'), 1),
      legacy('x-Barcode', (tag) => textString(tag, '123')),
      legacy('Operation Policy Name', (tag) => textString(tag, 'default')),
    ]),
  ])
  assert.deepEqual(
    plain(payload),
    plain(
      structure(Tag.RequestPayload, [
        enumeration(Tag.ObjectType, 2),
        structure(Tag.Attributes, [
          aes(Tag.CryptographicAlgorithm),
          named('a')(Tag.Name),
          named('b')(Tag.Name),
          vendorAttribute('x', 'Barcode', '123'),
          vendorAttribute('KMIP1', 'Operation Policy Name', 'default'),
        ]),
      ]),
    ),
  )
  const pair = read('1.0', 'CreateKeyPair', [
    structure(Tag.CommonTemplateAttribute, []),
    structure(Tag.PrivateKeyTemplateAttribute, []),
    structure(Tag.PublicKeyTemplateAttribute, []),
  ])
  assert.deepEqual(
    pair.payload.value.map(({ tag }) => tag),
    [Tag.CommonAttributes, Tag.PrivateKeyAttributes, Tag.PublicKeyAttributes],
  )
})

test('Single attributes of 1.x become NewAttribute, references or a list, with the index next to them', () => {
  const modify = read('1.4', 'ModifyAttribute', [
    textString(Tag.UniqueIdentifier, 'u'),
    legacy('Name', named('c'), 2),
  ])
  assert.deepEqual(
    plain(modify.payload),
    plain(
      structure(Tag.RequestPayload, [
        textString(Tag.UniqueIdentifier, 'u'),
        structure(Tag.NewAttribute, [named('c')(Tag.Name)]),
        integer(Tag.AttributeIndex, 2),
      ]),
    ),
  )
  const remove = read('1.4', 'DeleteAttribute', [
    textString(Tag.AttributeName, 'x-a'),
    integer(Tag.AttributeIndex, 1),
  ])
  assert.deepEqual(
    plain(remove.payload),
    plain(
      structure(Tag.RequestPayload, [
        structure(Tag.AttributeReference, [
          textString(Tag.VendorIdentification, 'x'),
          textString(Tag.AttributeName, 'a'),
        ]),
        integer(Tag.AttributeIndex, 1),
      ]),
    ),
  )
  const get = read(
    '1.4',
    'GetAttributes',
    ['Cryptographic Length', 'Nonsense'].map((name) => textString(Tag.AttributeName, name)),
  )
  assert.equal(get.payload.value[0]?.value, Tag.CryptographicLength)
  assert.equal(get.payload.value[1]?.type, 'Structure', 'an unknown name matches no attribute, not all')
  const locate = read('1.0', 'Locate', [
    legacy('Name', named('a')),
    integer(Tag.MaximumItems, 5),
    structure(Tag.TemplateAttribute, [legacy('Cryptographic Algorithm', aes)]),
  ])
  assert.deepEqual(
    locate.payload.value.map(({ tag }) => tag),
    [Tag.MaximumItems, Tag.Attributes],
  )
  assert.equal((locate.payload.value[1] as StructureNode).value.length, 2)
})

test('Attributes inside the key of a 1.x Register become attributes', () => {
  const key = (attributes: readonly TtlvNode[]): StructureNode =>
    structure(Tag.SymmetricKey, [
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, 1),
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, Buffer.from('k')), ...attributes]),
      ]),
    ])
  const { payload } = read('1.1', 'Register', [key([legacy('Cryptographic Algorithm', aes)])])
  const modern = key([structure(Tag.Attributes, [aes(Tag.CryptographicAlgorithm)])])
  assert.deepEqual(plain(payload.value[0] ?? payload), plain(modern))
  const got = payloadOf(written('1.1', { operation: 'Get', status: 'Success', payload: [modern] }))
  assert.deepEqual(plain(got.value[0] ?? got), plain(key([])), 'a 1.x Get returns only the material')
})

test('An invalid item is refused without the others', () => {
  const refusal = (
    version: KmipVersion,
    operation: 'Create' | 'AddAttribute' | 'Import' | 'Locate' | 'Ping',
    payload: readonly TtlvNode[],
  ) => read(version, operation, payload).refusal?.reason
  assert.equal(refusal('1.3', 'Import', []), 'OperationNotSupported')
  assert.equal(refusal('2.0', 'Ping', []), 'OperationNotSupported')
  assert.equal(refusal('2.1', 'Ping', []), undefined)
  assert.equal(refusal('1.4', 'AddAttribute', [legacy('Nonsense', aes)]), 'InvalidField')
  assert.equal(refusal('1.4', 'AddAttribute', [legacy('Name', aes)]), 'InvalidField')
  assert.equal(refusal('1.4', 'AddAttribute', [legacy('Name', named('a'), -1)]), 'IndexOutOfBounds')
  assert.equal(refusal('1.4', 'AddAttribute', [structure(Tag.Attribute, [])]), 'MissingData')
  assert.equal(
    refusal('1.4', 'Locate', [structure(Tag.TemplateAttribute, [named('t')(Tag.Name)])]),
    'FeatureNotSupported',
  )
  assert.equal(
    refusal('1.4', 'Create', [structure(Tag.TemplateAttribute, [named('t')(Tag.Name)])]),
    undefined,
  )
  assert.equal(refusal('1.4', 'Create', [integer(Tag.TemplateAttribute, 1)]), 'InvalidField')
})

test('A client never sees attributes, members, operations or object types that are newer than its version', () => {
  const attributes = structure(Tag.Attributes, [
    aes(Tag.CryptographicAlgorithm),
    boolean(Tag.Fresh, true),
    boolean(Tag.Sensitive, true),
    enumeration(Tag.KeyFormatType, 1),
    boolean(Tag.RotateLatest, true),
    vendorAttribute('x', 'a', '1'),
    vendorAttribute('warder', 'tag', '[]'),
    vendorAttribute('KMIP1', 'Operation Policy Name', 'p'),
  ])
  const names = (version: KmipVersion): readonly string[] => {
    const payload = payloadOf(
      written(version, { operation: 'GetAttributes', status: 'Success', payload: [attributes] }),
    )
    return payload.value.map((attribute) =>
      requireMember(attribute as StructureNode, Tag.AttributeName, 'TextString'),
    )
  }
  assert.deepEqual(names('1.0'), ['Cryptographic Algorithm', 'x-a', 'Operation Policy Name'])
  assert.deepEqual(names('1.1'), ['Cryptographic Algorithm', 'Fresh', 'x-a', 'Operation Policy Name'])
  assert.deepEqual(names('1.4'), [
    'Cryptographic Algorithm',
    'Fresh',
    'Sensitive',
    'x-a',
    'Operation Policy Name',
  ])
  const modern = (version: KmipVersion): number =>
    (
      payloadOf(written(version, { operation: 'GetAttributes', status: 'Success', payload: [attributes] }))
        .value[0] as StructureNode
    ).value.length
  assert.equal(modern('2.0'), attributes.value.length - 1)
  assert.equal(modern('2.1'), attributes.value.length)

  const query = [
    enumeration(Tag.Operation, 1),
    enumeration(Tag.Operation, 0x1f),
    enumeration(Tag.Operation, 0x3b),
    enumeration(Tag.ObjectType, 10),
  ]
  const answered = (version: KmipVersion): number =>
    payloadOf(written(version, { operation: 'Query', status: 'Success', payload: query })).value.length
  assert.deepEqual([answered('1.0'), answered('1.4'), answered('2.0'), answered('2.1')], [1, 2, 3, 4])

  const located = [integer(Tag.LocatedItems, 1), textString(Tag.UniqueIdentifier, 'u')]
  const members = (version: KmipVersion): number =>
    payloadOf(written(version, { operation: 'Locate', status: 'Success', payload: located })).value.length
  assert.deepEqual([members('1.2'), members('1.3')], [1, 2])
})

test('Several instances get an index from the second on', () => {
  const attributes = structure(Tag.Attributes, [
    named('a')(Tag.Name),
    aes(Tag.CryptographicAlgorithm),
    named('b')(Tag.Name),
  ])
  const payload = payloadOf(
    written('1.4', { operation: 'GetAttributes', status: 'Success', payload: [attributes] }),
  )
  assert.deepEqual(
    payload.value.map((attribute) => optional(attribute as StructureNode, Tag.AttributeIndex, 'Integer')),
    [undefined, undefined, 1],
  )
})

test('Links of a later type are omitted, and others keep their index', () => {
  const link = (type: keyof typeof Enumeration.LinkType) =>
    structure(Tag.Link, [
      enumeration(Tag.LinkType, Enumeration.LinkType[type]),
      textString(Tag.LinkedObjectIdentifier, 'k'),
    ])
  const types = ['WrappingKeyLink', 'PKCS_12PasswordLink', 'ParentLink', 'PublicKeyLink'] as const
  const payload = [structure(Tag.Attributes, types.map(link))]
  const indexes = (version: KmipVersion) =>
    payloadOf(written(version, { operation: 'GetAttributes', status: 'Success', payload })).value.map(
      (attribute) => optional(attribute as StructureNode, Tag.AttributeIndex, 'Integer') ?? 0,
    )
  assert.deepEqual(
    ['1.0', '1.1', '1.2', '1.3', '1.4'].map((version) => indexes(version as KmipVersion)),
    [[3], [3], [2, 3], [2, 3], [1, 2, 3]],
  )
})

test('An AttributeIndex after an attribute is its index in 1.x', () => {
  const attributes = structure(Tag.Attributes, [
    named('b')(Tag.Name),
    integer(Tag.AttributeIndex, 1),
    named('d')(Tag.Name),
    integer(Tag.AttributeIndex, 3),
    aes(Tag.CryptographicAlgorithm),
  ])
  const payload = payloadOf(
    written('1.4', { operation: 'GetAttributes', status: 'Success', payload: [attributes] }),
  )
  assert.deepEqual(
    payload.value.map((attribute) => optional(attribute as StructureNode, Tag.AttributeIndex, 'Integer')),
    [1, 3, undefined],
  )
})

test('The response contains the changed attribute for a 1.x client, not for a 2.x client', () => {
  const reply: ResponseItem = {
    operation: 'ModifyAttribute',
    status: 'Success',
    payload: [
      textString(Tag.UniqueIdentifier, 'u'),
      structure(Tag.NewAttribute, [named('n')(Tag.Name)]),
      integer(Tag.AttributeIndex, 3),
    ],
  }
  const old = payloadOf(written('1.4', reply))
  assert.deepEqual(plain(old.value[1] ?? old), plain(legacy('Name', named('n'), 3)))
  assert.equal(old.value.length, 2)
  assert.equal(payloadOf(written('2.1', reply)).value.length, 1)
  const deleted: ResponseItem = {
    operation: 'DeleteAttribute',
    status: 'Success',
    payload: [structure(Tag.CurrentAttribute, [named('n')(Tag.Name)]), integer(Tag.AttributeIndex, 3)],
  }
  assert.deepEqual(
    payloadOf(written('1.4', deleted)).value.map(plain),
    [plain(legacy('Name', named('n'), 3))],
    'the index is inside the attribute and nowhere else',
  )
})

test('Every attribute of a 1.x version survives the conversion, in order; others are omitted', () => {
  const exampleOf = (row: AttributeRow): TtlvNode => {
    switch (row.type) {
      case 'Structure':
        return row.tag === Tag.Attribute ? vendorAttribute('y', 'n', 'v') : named('n')(row.tag)
      case 'Integer':
        return integer(row.tag, 7)
      case 'Enumeration':
        return enumeration(row.tag, 2)
      case 'Boolean':
        return boolean(row.tag, true)
      case 'DateTime':
        return dateTime(row.tag, 1_700_000_000)
      case 'Interval':
        return interval(row.tag, 60)
      case 'ByteString':
        return byteString(row.tag, Buffer.from('b'))
      default:
        return textString(row.tag, 't')
    }
  }
  // Those of 3.0 alone are in no answer to other clients: the engine has none for them.
  const modern = attributes.filter(({ until, since }) => until === undefined && since !== '3.0')
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...modern), { maxLength: 12 }),
      fc.constantFrom(...kmipVersions),
      (rows, version) => {
        const kept = rows.filter((row) =>
          isLegacy(version) && row.tag === Tag.Attribute ? true : attributeIn(version, row),
        )
        const reply: ResponseItem = {
          operation: 'GetAttributes',
          status: 'Success',
          payload: [structure(Tag.Attributes, rows.map(exampleOf))],
        }
        const bytes = encodeResponse({ version, bare: false, timeStamp: 1, items: [reply] }, 'ttlv')
        const [back] = readResponse(decodeTtlv(bytes)).items
        const list = back?.payload?.flatMap((node) => (node.type === 'Structure' ? node.value : []))
        assert.deepEqual(list?.map(plain), kept.map(exampleOf).map(plain))
      },
    ),
    { numRuns: 300 },
  )
})

test('References become names for 1.x', () => {
  const reply: ResponseItem = {
    operation: 'GetAttributeList',
    status: 'Success',
    payload: [
      enumeration(Tag.AttributeReference, Tag.CryptographicAlgorithm),
      enumeration(Tag.AttributeReference, Tag.RotateLatest),
      structure(Tag.AttributeReference, [
        textString(Tag.VendorIdentification, 'y'),
        textString(Tag.AttributeName, 'b'),
      ]),
      structure(Tag.AttributeReference, [
        textString(Tag.VendorIdentification, 'warder'),
        textString(Tag.AttributeName, 'tag'),
      ]),
    ],
  }
  assert.deepEqual(
    payloadOf(written('1.4', reply)).value.map(({ value }) => value),
    ['Cryptographic Algorithm', 'y-b'],
  )
})

test('Before 1.4 the authentication tag is at the end of the data', () => {
  const reply: ResponseItem = {
    operation: 'Encrypt',
    status: 'Success',
    payload: [
      byteString(Tag.Data, Buffer.from('abc')),
      byteString(Tag.AuthenticatedEncryptionTag, Buffer.from('TAG')),
    ],
  }
  const old = payloadOf(written('1.2', reply))
  assert.equal(Buffer.from(requireMember(old, Tag.Data, 'ByteString')).toString(), 'abcTAG')
  assert.equal(old.value.length, 1)
  assert.equal(payloadOf(written('1.4', reply)).value.length, 2)
})

test('Failures carry the reason of the client’s version, correlation values only from 1.4', () => {
  const failed: ResponseItem = {
    operation: 'Destroy',
    uniqueBatchItemId: Buffer.from('id'),
    status: 'OperationFailed',
    reason: 'WrongKeyLifecycleState',
    message: 'DENIED',
  }
  const answer = (version: KmipVersion) =>
    readResponse(
      decodeTtlv(
        encodeResponse(
          {
            version,
            bare: false,
            timeStamp: 5,
            clientCorrelationValue: 'c',
            serverCorrelationValue: 's',
            items: [failed],
          },
          'ttlv',
        ),
      ),
    )
  const modern = answer('2.1')
  assert.deepEqual(
    [modern.items[0]?.reason, modern.items[0]?.message, modern.clientCorrelationValue],
    ['WrongKeyLifecycleState', 'DENIED', 'c'],
  )
  assert.equal(modern.items[0]?.payload, undefined)
  assert.equal(answer('1.4').items[0]?.reason, 'PermissionDenied')
  assert.equal(answer('1.4').serverCorrelationValue, 's')
  assert.equal(answer('1.3').serverCorrelationValue, undefined)
})

test('A bare operation in JSON is read and answered without an envelope', () => {
  const body = Buffer.from(
    JSON.stringify({
      tag: 'Mac',
      value: [
        { tag: 'UniqueIdentifier', type: 'TextString', value: 'u' },
        { tag: 'Data', type: 'ByteString', value: 'ab' },
      ],
    }),
  )
  const request = decodeRequest(body, 'json', { bareVersion: '2.1' })
  assert.deepEqual([request.bare, request.version, request.items[0]?.operation], [true, '2.1', 'MAC'])
  const [first] = request.items
  assert.ok(first)
  assert.equal(requireMember(first.payload, Tag.UniqueIdentifier, 'TextString'), 'u')
  const reply = {
    operation: 'MAC',
    status: 'Success',
    payload: [byteString(Tag.MACData, Buffer.from([1]))],
  } as const
  const response = { version: '2.1', bare: true, timeStamp: 0, items: [reply] } as const
  assert.equal(
    encodeResponse(response, 'json').toString(),
    '{"tag":"MACResponse","type":"Structure","value":[{"tag":"MACData","type":"ByteString","value":"01"}]}',
  )
  assert.throws(() => encodeResponse(response, 'ttlv'), KmipEncodeError)
  assert.throws(
    () => encodeResponse({ ...response, items: [{ operation: 'MAC', status: 'OperationFailed' }] }, 'json'),
    KmipEncodeError,
  )
})

test('A bare operation of 1.4 has the form of 1.4, and the same path accepts an envelope', () => {
  const create = {
    tag: 'Create',
    type: 'Structure',
    value: [
      { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
      {
        tag: 'TemplateAttribute',
        value: [
          {
            tag: 'Attribute',
            value: [
              { tag: 'AttributeValue', type: 'Enumeration', value: 'AES' },
              { tag: 'AttributeName', type: 'TextString', value: 'Cryptographic Algorithm' },
            ],
          },
        ],
      },
    ],
  }
  const bare = decodeRequest(Buffer.from(JSON.stringify(create)), 'json', { bareVersion: '1.4' })
  assert.deepEqual(
    plain(bare.items[0]?.payload ?? structure(0, [])),
    plain(
      structure(Tag.RequestPayload, [
        enumeration(Tag.ObjectType, 2),
        structure(Tag.Attributes, [aes(Tag.CryptographicAlgorithm)]),
      ]),
    ),
  )
  const message = structure(Tag.RequestMessage, [header({ major: 1, minor: 3 }, 1), item('Query', [])])
  for (const encoding of ['ttlv', 'json', 'xml'] as const)
    assert.equal(
      decodeRequest(encodeNode(message, encoding), encoding, { bareVersion: '2.1' }).version,
      '1.3',
    )
})

test('A root that is neither a message nor an operation is refused, and so is a bare operation where none is expected', () => {
  const reason = (root: unknown, options: Parameters<typeof decodeRequest>[2]): string => {
    try {
      decodeRequest(Buffer.from(JSON.stringify(root)), 'json', options)
      return 'accepted'
    } catch (error) {
      assert.ok(error instanceof KmipDecodeError)
      return error.code
    }
  }
  assert.equal(reason({ tag: 'Drop', value: [] }, { bareVersion: '2.1' }), 'unknown_operation')
  assert.equal(reason({ tag: '__proto__', value: [] }, { bareVersion: '2.1' }), 'unknown_operation')
  assert.equal(reason({ tag: 'Create', value: 5 }, { bareVersion: '2.1' }), 'malformed_json')
  assert.equal(reason({ tag: 'Create', value: [] }, {}), 'unknown_tag')
  assert.equal(reason({ tag: 'Create', value: [] }, { bareVersion: '2.1' }), 'accepted')
})

test('Content types name encodings', () => {
  assert.equal(findEncoding('application/json; charset=utf-8'), 'json')
  assert.equal(findEncoding('Application/Octet-Stream'), 'ttlv')
  assert.equal(findEncoding('text/xml'), 'xml')
  assert.equal(findEncoding('text/plain'), undefined)
  for (const [encoding, type] of Object.entries(contentTypes)) assert.equal(findEncoding(type), encoding)
})

test('A message of an unsupported version gets this error, even if its body is invalid in every supported version', () => {
  const ttlv = encodeTtlv(
    structure(Tag.RequestMessage, [
      structure(Tag.RequestHeader, [
        structure(Tag.ProtocolVersion, [
          integer(Tag.ProtocolVersionMajor, 3),
          integer(Tag.ProtocolVersionMinor, 0),
        ]),
      ]),
      structure(Tag.BatchItem, [integer(Tag.UniqueIdentifier, 1)]),
    ]),
  )
  // The last item, an Integer here, becomes an Identifier of 3.0 (item type 0C).
  const identifier = Buffer.from(ttlv)
  identifier[ttlv.length - 13] = 0x0c
  const json = (major: number | string) =>
    JSON.stringify({
      tag: 'RequestMessage',
      value: [
        {
          tag: 'RequestHeader',
          value: [
            {
              tag: 'ProtocolVersion',
              value: [
                { tag: 'ProtocolVersionMajor', type: 'Integer', value: major },
                { tag: 'ProtocolVersionMinor', type: 'Integer', value: 0 },
              ],
            },
          ],
        },
        { tag: 'BatchItem', value: [{ tag: 'UniqueIdentifier', type: 'Identifier', value: 'x' }] },
      ],
    })
  const xml = (major: string) =>
    `<?xml version="1.0"?><RequestMessage><RequestHeader><ProtocolVersion><ProtocolVersionMajor type="Integer" value="${major}"/><ProtocolVersionMinor type="Integer" value="0"/></ProtocolVersion></RequestHeader><BatchItem><UniqueIdentifier type="Identifier" value="x"/></BatchItem></RequestMessage>`
  const refusal = (bytes: Uint8Array, encoding: Encoding) => {
    try {
      decodeRequest(bytes, encoding)
    } catch (error) {
      assert.ok(error instanceof KmipDecodeError)
      const { version, items } = toErrorResponse(error, 0)
      return [version, items[0]?.reason]
    }
    return undefined
  }
  const unspoken = ['2.1', 'UnsupportedProtocolVersion']
  assert.deepEqual(refusal(identifier, 'ttlv'), unspoken)
  for (const major of [3, '0x00000003']) assert.deepEqual(refusal(Buffer.from(json(major)), 'json'), unspoken)
  for (const major of ['3', '0x00000003']) assert.deepEqual(refusal(Buffer.from(xml(major)), 'xml'), unspoken)
  // Of a version that is spoken the same bytes are wrong.
  assert.equal(refusal(Buffer.from(json(2)), 'json')?.[1], 'InvalidMessage')
  assert.equal(refusal(Buffer.from(xml('2')), 'xml')?.[1], 'InvalidMessage')
  assert.equal(refusal(Buffer.from('{"tag":"RequestMessage"'), 'json')?.[1], 'InvalidMessage')
})
