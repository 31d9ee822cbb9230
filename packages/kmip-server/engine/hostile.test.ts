import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  contentTypes,
  decodeNode,
  type Encoding,
  Enumeration,
  encodeNode,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { type ResponseMessage, readResponse } from '@warder/kmip-codec/testing'
import { startSharedKms } from '@warder/kms/testing'
import fc from 'fast-check'
import { kmipClient } from '../testing/kmip-client.ts'
import { aesAttributes, objectType } from '../testing/nodes.ts'

const kms = await startSharedKms()
const caller = kms.user('alice')

interface Shape {
  readonly version?: readonly [major: number, minor: number]
  readonly count?: number
  readonly header?: readonly TtlvNode[]
  readonly items?: readonly StructureNode[]
}

const ping = item(Enumeration.Operation.Ping)

function item(operation: number, payload: readonly TtlvNode[] = []): StructureNode {
  return structure(Tag.BatchItem, [
    enumeration(Tag.Operation, operation),
    structure(Tag.RequestPayload, payload),
  ])
}

function message({
  version: [major, minor] = [2, 1],
  items = [ping],
  count = items.length,
  header = [],
}: Shape) {
  return structure(Tag.RequestMessage, [
    structure(Tag.RequestHeader, [
      structure(Tag.ProtocolVersion, [
        integer(Tag.ProtocolVersionMajor, major),
        integer(Tag.ProtocolVersionMinor, minor),
      ]),
      ...header,
      integer(Tag.BatchCount, count),
    ]),
    ...items,
  ])
}

async function post(bytes: Uint8Array, encoding: Encoding = 'ttlv'): Promise<ResponseMessage> {
  const headers = { 'content-type': contentTypes[encoding] }
  const answer = await caller.call('POST', '/kmip', { bytes, headers })
  assert.equal(answer.status, 200, answer.text)
  return readResponse(decodeNode(answer.bytes, encoding))
}

const sent = (shape: Shape, encoding: Encoding = 'ttlv') =>
  post(encodeNode(message(shape), encoding), encoding)

test('an unsupported version is refused with the reason, in the highest common version', async () => {
  const answers = [
    [[3, 0], '2.1'],
    [[2, 7], '2.1'],
    [[1, 9], '1.4'],
    [[0, 1], '1.0'],
    [[-1, 0], '1.0'],
  ] as const
  for (const encoding of ['ttlv', 'json', 'xml'] as const) {
    for (const [version, spoken] of answers) {
      const answer = await sent({ version }, encoding)
      assert.equal(answer.version, spoken)
      const reason = spoken >= '2.0' ? 'UnsupportedProtocolVersion' : 'InvalidMessage'
      assert.deepEqual([answer.items[0]?.status, answer.items[0]?.reason], ['OperationFailed', reason])
    }
  }
})

test('a wrong batch count and a message without items are refused, and nothing is executed', async () => {
  const made = item(Enumeration.Operation.Create, [objectType('SymmetricKey'), aesAttributes()])
  for (const shape of [
    { items: [made], count: 2 },
    { items: [made, made], count: 1 },
    { items: [made], count: -1 },
    { items: [made], count: 0 },
    { items: [] },
  ]) {
    const { items } = await sent(shape)
    assert.deepEqual([items.length, items[0]?.reason], [1, 'InvalidMessage'])
  }
  assert.deepEqual((await caller.get('/access/owned')).json, [])
})

test('an unknown operation, and one that the version lacks, are refused by name', async () => {
  const put = await sent({ items: [item(Enumeration.Operation.Put)] })
  assert.deepEqual([put.items[0]?.operation, put.items[0]?.reason], ['Put', 'OperationNotSupported'])
  const early = await sent({ version: [1, 0], items: [item(Enumeration.Operation.Encrypt)] })
  assert.deepEqual([early.items[0]?.operation, early.items[0]?.reason], ['Encrypt', 'OperationNotSupported'])
  const nothing = await sent({ items: [item(0x7777)] })
  assert.deepEqual(
    [nothing.items[0]?.operation, nothing.items[0]?.reason],
    [undefined, 'OperationNotSupported'],
  )
})

test('mistyped and missing members and unknown values fail only their own item', async () => {
  const create = Enumeration.Operation.Create
  const bad = [
    item(create, [textString(Tag.ObjectType, 'SymmetricKey'), aesAttributes()]),
    item(create, [enumeration(Tag.ObjectType, 0x99), aesAttributes()]),
    item(create, [objectType('SymmetricKey'), textString(Tag.Attributes, 'none')]),
    item(create, [objectType('SymmetricKey'), objectType('SymmetricKey'), aesAttributes()]),
    item(Enumeration.Operation.Get, [structure(Tag.UniqueIdentifier, [])]),
    item(Enumeration.Operation.Get, [textString(Tag.UniqueIdentifier, 'a'.repeat(100_000))]),
    item(Enumeration.Operation.Get, [textString(Tag.UniqueIdentifier, 'a\u0000b')]),
    item(Enumeration.Operation.Query, [textString(Tag.QueryFunction, 'everything')]),
    item(Enumeration.Operation.RNGRetrieve, [integer(Tag.DataLength, 0x7fffffff)]),
  ]
  const { items } = await sent({
    items: [...bad, ping],
    header: [
      enumeration(Tag.BatchErrorContinuationOption, Enumeration.BatchErrorContinuationOption.Continue),
    ],
  })
  assert.equal(items.length, bad.length + 1)
  assert.ok(items.slice(0, -1).every(({ status }) => status === 'OperationFailed'))
  assert.equal(items.at(-1)?.status, 'Success')
  assert.ok(items.every(({ reason }) => reason !== 'GeneralFailure'))
})

test('bytes that are not a message get an error that clients of every version can decode', async () => {
  const good = encodeNode(message({}), 'ttlv')
  const deep = Buffer.alloc(8 * 5000)
  for (let level = 0; level < 5000; level++) {
    deep.writeUIntBE(Tag.RequestMessage, level * 8, 3)
    deep[level * 8 + 3] = 1
    deep.writeUInt32BE(deep.length - (level + 1) * 8, level * 8 + 4)
  }
  const endless = Buffer.from(good)
  endless.writeUInt32BE(0xfffffff8, 4)
  for (const bytes of [
    Buffer.alloc(0),
    good.subarray(0, 7),
    good.subarray(0, good.length - 8),
    Buffer.concat([good, good]),
    endless,
    deep,
    Buffer.alloc(1024, 0xff),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
  ]) {
    const { items } = await post(bytes)
    assert.deepEqual([items.length, items[0]?.operation, items[0]?.reason], [1, undefined, 'InvalidMessage'])
  }
  for (const text of [
    '',
    '{}',
    '[',
    '{"tag":"RequestMessage"}',
    `${'['.repeat(100_000)}`,
    '<KMIP>',
    '\u0000',
  ]) {
    for (const encoding of ['json', 'xml'] as const) {
      assert.equal((await post(Buffer.from(text), encoding)).items[0]?.status, 'OperationFailed')
    }
  }
  assert.equal((await sent({})).items[0]?.status, 'Success')
})

test('a bare operation that cannot be read is a bad request with a reason', async () => {
  for (const body of [
    { tag: 'Nothing', value: [] },
    { tag: 'Create', value: 7 },
    [],
    { tag: 'Create', value: [{}] },
  ]) {
    const { status, json } = await caller.post('/kmip/2_1', body)
    assert.equal(status, 400)
    assert.match(json.result_reason, /^(InvalidMessage|OperationNotSupported)$/)
  }
  const missing = await caller.post('/kmip/2_1', { tag: 'Create', value: [] })
  assert.deepEqual([missing.status, missing.json.result_reason], [400, 'MissingData'])
  const inMessage = await caller.post('/kmip/2_1', { tag: 'RequestMessage', value: [] })
  assert.deepEqual([inMessage.status, inMessage.json.tag], [200, 'ResponseMessage'])
})

test('property: every malformed message gets a response, and never an internal error', async () => {
  const whole = message({
    items: [
      item(Enumeration.Operation.Create, [objectType('SymmetricKey'), aesAttributes()]),
      item(Enumeration.Operation.Get),
      item(Enumeration.Operation.Activate),
      item(Enumeration.Operation.Query, [enumeration(Tag.QueryFunction, 1)]),
    ],
  })
  for (const encoding of ['ttlv', 'json', 'xml'] as const) {
    const seed = encodeNode(whole, encoding)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(seed.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        async (changes) => {
          const bent = Buffer.from(seed)
          for (const [at, byte] of changes) bent[at] = byte
          for (const { reason } of (await post(bent, encoding)).items)
            assert.notEqual(reason, 'GeneralFailure')
        },
      ),
      { numRuns: 60, seed: 5 },
    )
  }
  const client = kmipClient(caller)
  await client.do('Ping')
})
