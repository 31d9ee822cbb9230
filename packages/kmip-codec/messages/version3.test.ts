import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Enumeration } from '../tables/enumerations.gen.ts'
import { Tag } from '../tables/tags.gen.ts'
import { plain } from '../testing/arbitrary.ts'
import { readDraftVectors } from '../testing/vectors.ts'
import { encodeTtlv } from '../ttlv/encode.ts'
import { KmipDecodeError } from '../ttlv/error.ts'
import {
  boolean,
  enumeration,
  integer,
  type StructureNode,
  structure,
  type TtlvNode,
  textString,
} from '../ttlv/node.ts'
import { readResponse, writeRequest } from './client.ts'
import { decodeNode, decodeRequest, encodeNode, encodeResponse, toErrorResponse } from './codec.ts'
import { readRequest } from './request.ts'
import { writeResponse } from './response.ts'
import type { Encoding } from './types.ts'

const encodings = ['ttlv', 'json', 'xml'] as const satisfies readonly Encoding[]
const files = readDraftVectors()
const skip = files.length === 0 ? 'the public KMIP test cases are not here (WARDER_VECTORS)' : false

/** No part of it is in a word that only 3.0 has. */
function isEngineForm(node: TtlvNode): boolean {
  if (node.type === 'Structure') return node.value.every(isEngineForm)
  return !['Identifier', 'Reference', 'NameReference'].includes(node.type)
}

/** Operations whose members become another form inside, and back. */
test('Every 3.0 message of the public test cases is understood and written back as it was', { skip }, () => {
  let messages = 0
  for (const file of files)
    for (const [index, node] of file.messages.entries()) {
      const step = `${file.name} message ${index}`
      for (const encoding of encodings)
        assert.deepEqual(
          plain(decodeNode(encodeNode(node, encoding), encoding, { draft: true })),
          plain(node),
          `${step} in ${encoding}`,
        )
      messages += 1
      if (node.tag !== Tag.RequestMessage) {
        assert.deepEqual(plain(writeResponse(readResponse(node))), plain(node), step)
        continue
      }
      const request = readRequest(node, { draft: true })
      assert.equal(request.version, '3.0')
      for (const item of request.items) {
        const isCreateUser = item.operation === 'CreateUser'
        assert.equal(item.refusal === undefined, !isCreateUser, step)
        assert.ok(isEngineForm(item.payload), step)
      }
      if (request.items.some(({ refusal }) => refusal !== undefined)) continue
      assert.deepEqual(plain(writeRequest(request)), plain(node), step)
    }
  assert.ok(messages > 800, `${messages} messages`)
})

const version = (major: number, minor: number) =>
  structure(Tag.ProtocolVersion, [
    integer(Tag.ProtocolVersionMajor, major),
    integer(Tag.ProtocolVersionMinor, minor),
  ])

function message(
  payload: readonly TtlvNode[],
  { header = [], item = [], major = 3 }: Parts = {},
): StructureNode {
  return structure(Tag.RequestMessage, [
    structure(Tag.RequestHeader, [
      version(major, major === 3 ? 0 : 1),
      ...header,
      major === 3 ? undefined : integer(Tag.BatchCount, 1),
    ]),
    structure(Tag.BatchItem, [
      enumeration(Tag.Operation, Enumeration.Operation.GetAttributes),
      ...item,
      structure(Tag.RequestPayload, payload),
    ]),
  ])
}

interface Parts {
  readonly header?: readonly TtlvNode[]
  readonly item?: readonly TtlvNode[]
  readonly major?: number
}

const identifier = (value: string, tag: number = Tag.UniqueIdentifier): TtlvNode => ({
  tag,
  type: 'Identifier',
  value,
})
const reference = (tag: number, value: string): TtlvNode => ({ tag, type: 'Reference', value })

/** The payload inside, or the reason of its refusal. */
function inside(...payload: readonly TtlvNode[]): readonly TtlvNode[] | string {
  const bytes = encodeTtlv(message(payload))
  const [item] = decodeRequest(bytes, 'ttlv', { draft: true }).items
  return item?.refusal?.message ?? item?.payload.value ?? []
}

test('Names, links, groups and identifiers of 3.0 become those of 2.1', () => {
  const attributes = (...nodes: readonly TtlvNode[]) => structure(Tag.Attributes, nodes)
  const link = (type: number, node: TtlvNode) =>
    structure(Tag.Link, [enumeration(Tag.LinkType, type), { ...node, tag: Tag.LinkedObjectIdentifier }])
  assert.deepEqual(
    inside(
      identifier('a'),
      attributes(
        textString(Tag.Name, 'n'),
        reference(Tag.NextLink, 'b'),
        enumeration(Tag.PublicKeyLink, Enumeration.UniqueIdentifier.CreateKeyPairPublicKey),
        integer(Tag.ParentLink, -1),
        { tag: Tag.GroupLink, type: 'NameReference', value: 'g' },
      ),
      enumeration(Tag.AttributeReference, Tag.GroupLink),
      enumeration(Tag.AttributeReference, Tag.NextLink),
    ),
    [
      textString(Tag.UniqueIdentifier, 'a'),
      attributes(
        structure(Tag.Name, [textString(Tag.NameValue, 'n'), enumeration(Tag.NameType, 1)]),
        link(Enumeration.LinkType.NextLink, textString(0, 'b')),
        link(
          Enumeration.LinkType.PublicKeyLink,
          enumeration(0, Enumeration.UniqueIdentifier.CreateKeyPairPublicKey),
        ),
        link(Enumeration.LinkType.ParentLink, integer(0, -1)),
        textString(Tag.ObjectGroup, 'g'),
      ),
      enumeration(Tag.AttributeReference, Tag.ObjectGroup),
      enumeration(Tag.AttributeReference, Tag.NextLink),
    ],
  )
})

test('Words of other versions, and identifiers of a wrong type, are refused by name', () => {
  const words = (node: TtlvNode) => inside(structure(Tag.Attributes, [node]))
  for (const [node, message] of [
    [
      textString(Tag.UniqueIdentifier, 'a'),
      'UniqueIdentifier must be of type Identifier, Enumeration or Integer in KMIP 3.0.',
    ],
    [
      reference(Tag.UniqueIdentifier, 'a'),
      'UniqueIdentifier must be of type Identifier, Enumeration or Integer in KMIP 3.0.',
    ],
    [
      identifier('a', Tag.NextLink),
      'NextLink must be of type Reference, Enumeration or Integer in KMIP 3.0.',
    ],
    [
      textString(Tag.NextLink, 'a'),
      'NextLink must be of type Reference, Enumeration or Integer in KMIP 3.0.',
    ],
    [
      { tag: Tag.NextLink, type: 'NameReference', value: 'a' },
      'NextLink must name its object by a Reference here.',
    ],
    [reference(Tag.GroupLink, 'a'), 'GroupLink must be of type NameReference in KMIP 3.0.'],
    [identifier('a', Tag.Comment), 'Comment cannot be of type Identifier.'],
    [reference(Tag.CredentialLink, 'a'), 'CredentialLink is not supported.'],
    [structure(Tag.Name, [textString(Tag.NameValue, 'n')]), 'Name must be of type TextString in KMIP 3.0.'],
    [textString(Tag.ObjectGroup, 'g'), 'ObjectGroup does not exist in KMIP 3.0.'],
    [structure(Tag.Link, []), 'Link does not exist in KMIP 3.0.'],
    [structure(Tag.TemplateAttribute, []), 'TemplateAttribute does not exist in KMIP 3.0.'],
    [
      structure(Tag.Attribute, [
        textString(Tag.VendorIdentification, 'x'),
        textString(Tag.AttributeName, 'y'),
        identifier('a', Tag.AttributeValue),
      ]),
      'AttributeValue cannot be of type Identifier.',
    ],
  ] as const satisfies readonly (readonly [TtlvNode, string])[])
    assert.equal(words(node), message)
  assert.equal(
    inside(identifier('a', Tag.AttributeReference)),
    'AttributeReference cannot be of type Identifier.',
  )
  assert.equal(inside(enumeration(Tag.AttributeReference, Tag.Link)), 'Link does not exist in KMIP 3.0.')
})

function refusal(bytes: Uint8Array, encoding: Encoding, draft = true): readonly unknown[] | undefined {
  try {
    decodeRequest(bytes, encoding, { draft })
    return undefined
  } catch (error) {
    assert.ok(error instanceof KmipDecodeError)
    const { version: answered, items } = toErrorResponse(error, 0, draft)
    return [answered, items[0]?.reason, items[0]?.message]
  }
}

test('Members of the header and of a batch item that 3.0 reserves make the message invalid', () => {
  for (const parts of [
    { header: [integer(Tag.BatchCount, 1)] },
    { header: [boolean(Tag.BatchOrderOption, true)] },
    { item: [{ tag: Tag.UniqueBatchItemID, type: 'ByteString', value: Buffer.from('a') }] },
  ] as const satisfies readonly Parts[])
    for (const encoding of encodings) {
      const told = refusal(encodeNode(message([identifier('a')], parts), encoding), encoding)
      assert.deepEqual(told?.slice(0, 2), ['3.0', 'InvalidMessage'])
      assert.match(String(told?.[2]), /does not exist in KMIP 3\.0/)
    }
  const empty = structure(Tag.RequestMessage, [structure(Tag.RequestHeader, [version(3, 0)])])
  assert.deepEqual(refusal(encodeTtlv(empty), 'ttlv'), ['3.0', 'InvalidMessage', 'BatchItem is missing.'])
})

test('A message of 2.1 cannot use the words of 3.0, whether or not the draft is served', () => {
  const old = message([identifier('a')], { major: 2 })
  const named = message([textString(Tag.GroupLink, 'a')], { major: 2 })
  const value = message([enumeration(Tag.ObjectType, Enumeration.ObjectType.Group)], { major: 2 })
  const operation = structure(Tag.RequestMessage, [
    structure(Tag.RequestHeader, [version(2, 1), integer(Tag.BatchCount, 1)]),
    structure(Tag.BatchItem, [
      enumeration(Tag.Operation, Enumeration.Operation.CreateUser),
      structure(Tag.RequestPayload, []),
    ]),
  ])
  for (const draft of [false, true]) {
    for (const encoding of encodings)
      assert.equal(refusal(encodeNode(old, encoding), encoding, draft)?.[1], 'InvalidMessage')
    for (const encoding of ['json', 'xml'] as const) {
      const told = refusal(encodeNode(named, encoding, true), encoding, draft)
      assert.equal(told?.[1], 'InvalidMessage')
      assert.match(String(told?.[2]), /unknown tag/)
      assert.match(String(refusal(encodeNode(value, encoding, true), encoding, draft)?.[2]), /unknown name/)
      assert.match(
        String(refusal(encodeNode(operation, encoding, true), encoding, draft)?.[2]),
        /unknown name/,
      )
    }
    const told = refusal(encodeTtlv(operation), 'ttlv', draft)
    assert.deepEqual(told, ['2.1', 'OperationNotSupported', 'An operation is not in the standard.'])
  }
})

test('A message that claims two versions is refused', () => {
  const text = encodeNode(message([identifier('a')]), 'xml').toString('utf8')
  const two = text.replace(
    '<RequestMessage>',
    '<!-- <ProtocolVersionMajor type="Integer" value="3"/><ProtocolVersionMinor type="Integer" value="0"/> --><RequestMessage>',
  )
  const claimed = two
    .replace(/(.*)value="3"/s, '$1value="2"')
    .replace(
      /(.*)ProtocolVersionMinor type="Integer" value="0"/s,
      '$1ProtocolVersionMinor type="Integer" value="1"',
    )
  assert.equal(refusal(Buffer.from(claimed), 'xml')?.[1], 'InvalidMessage')
  assert.equal(refusal(Buffer.from(two), 'xml'), undefined)
})

test('Versions that are not served are answered in the newest one that is', () => {
  const of = (major: number, minor: number): Uint8Array =>
    encodeTtlv(structure(Tag.RequestMessage, [structure(Tag.RequestHeader, [version(major, minor)])]))
  const reason = 'UnsupportedProtocolVersion'
  assert.deepEqual(refusal(of(3, 0), 'ttlv', false)?.slice(0, 2), ['2.1', reason])
  assert.deepEqual(refusal(of(3, 1), 'ttlv')?.slice(0, 2), ['3.0', reason])
  assert.deepEqual(refusal(of(4, 0), 'ttlv')?.slice(0, 2), ['3.0', reason])
  assert.deepEqual(refusal(of(2, 9), 'ttlv')?.slice(0, 2), ['2.1', reason])
  assert.deepEqual(refusal(of(1, 9), 'ttlv')?.slice(0, 2), [
    '1.4',
    reason.replace(/.*/, 'UnsupportedProtocolVersion'),
  ])
})

test('An answer in 3.0 has no count, its reasons, and one attribute for each kind of link', () => {
  const bytes = encodeResponse(
    {
      version: '3.0',
      bare: false,
      timeStamp: 1,
      items: [
        {
          operation: 'GetAttributes',
          status: 'Success',
          payload: [
            textString(Tag.UniqueIdentifier, 'a'),
            structure(Tag.Attributes, [
              structure(Tag.Link, [
                enumeration(Tag.LinkType, Enumeration.LinkType.PreviousLink),
                textString(Tag.LinkedObjectIdentifier, 'b'),
              ]),
              structure(Tag.Link, [
                enumeration(Tag.LinkType, 0x80000001),
                textString(Tag.LinkedObjectIdentifier, 'b'),
              ]),
            ]),
          ],
        },
        { operation: 'Get', status: 'OperationFailed', reason: 'IllegalOperation', message: 'no' },
      ],
    },
    'xml',
  ).toString('utf8')
  assert.match(bytes, /<PreviousLink type="Reference" value="b"\/>\n\s*<\/Attributes>/)
  assert.match(bytes, /<UniqueIdentifier type="Identifier" value="a"\/>/)
  assert.match(bytes, /<ResultReason type="Enumeration" value="PermissionDenied"\/>/)
  assert.doesNotMatch(bytes, /BatchCount|LinkType/)
})

test('Ephemeral is an enumeration in 3.0, of which Data is supported', () => {
  const of = (node: TtlvNode) => encodeTtlv(message([identifier('a')], { item: [node] }))
  const data = of(enumeration(Tag.Ephemeral, Enumeration.Ephemeral.Data))
  assert.equal(decodeRequest(data, 'ttlv', { draft: true }).items[0]?.ephemeral, true)
  assert.match(String(refusal(of(enumeration(Tag.Ephemeral, 2)), 'ttlv')?.[2]), /only Data is supported/)
  assert.equal(refusal(of(boolean(Tag.Ephemeral, true)), 'ttlv')?.[1], 'InvalidMessage')
})
