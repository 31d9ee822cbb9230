import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '@warder/base'
import {
  boolean,
  dateTime,
  Enumeration,
  enumeration,
  findMember,
  integer,
  interval,
  kmipVersions,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { kmipClient, type Payload } from '../../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey } from '../../testing/requests.ts'

/** Seconds by which the clock is ahead. */
let shift = 0
const kms = await startSharedKms({ clock: { ...systemClock, now: () => systemClock.now() + shift * 1000 } })

const fresh = (node: TtlvNode) => structure(Tag.NewAttribute, [node])
const current = (node: TtlvNode) => structure(Tag.CurrentAttribute, [node])
const reference = (tag: number) => enumeration(Tag.AttributeReference, tag)
const vendorReference = (name: string, vendor = 'x') =>
  structure(Tag.AttributeReference, [
    textString(Tag.VendorIdentification, vendor),
    textString(Tag.AttributeName, name),
  ])
const vendor = (name: string, value: string, by = 'x') =>
  structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, by),
    textString(Tag.AttributeName, name),
    textString(Tag.AttributeValue, value),
  ])
const group = (value: string) => textString(Tag.ObjectGroup, value)
const name = (value: string) =>
  structure(Tag.Name, [
    textString(Tag.NameValue, value),
    enumeration(Tag.NameType, Enumeration.NameType.UninterpretedTextString),
  ])

function made(client: ReturnType<typeof kmipClient>, ...more: readonly TtlvNode[]): Promise<Payload> {
  return client.do('Create', [objectType('SymmetricKey'), aesAttributes(256, ...more)])
}

function attributesIn(payload: Payload): readonly TtlvNode[] {
  const holder = payload.nodes.find(({ tag }) => tag === Tag.Attributes)
  return holder?.type === 'Structure' ? holder.value : []
}

test('GetAttributes returns attributes in the requested order, without absent ones', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice, group('g1'), group('g2'), vendor('one', '1'))
  const got = await alice.do('GetAttributes', [
    uid(id),
    reference(Tag.ObjectGroup),
    vendorReference('one'),
    vendorReference('two'),
    reference(Tag.Comment),
    reference(Tag.State),
    reference(Tag.ObjectGroup),
    reference(Tag.Username),
  ])
  assert.deepEqual(attributesIn(got), [
    group('g1'),
    group('g2'),
    vendor('one', '1'),
    enumeration(Tag.State, Enumeration.State.PreActive),
  ])
})

test('GetAttributes without a name returns every attribute, and GetAttributeList names each once', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice, group('g1'), group('g2'), vendor('one', '1'), name('everything'))
  const all = attributesIn(await alice.do('GetAttributes', [uid(id)]))
  const tags = new Set(all.map(({ tag }) => tag))
  for (const tag of [
    Tag.UniqueIdentifier,
    Tag.ShortUniqueIdentifier,
    Tag.ObjectType,
    Tag.CryptographicAlgorithm,
    Tag.CryptographicLength,
    Tag.CryptographicUsageMask,
    Tag.State,
    Tag.InitialDate,
    Tag.LastChangeDate,
    Tag.OriginalCreationDate,
    Tag.Digest,
    Tag.Fresh,
    Tag.LeaseTime,
    Tag.Sensitive,
    Tag.AlwaysSensitive,
    Tag.Extractable,
    Tag.NeverExtractable,
    Tag.Name,
    Tag.Attribute,
  ])
    assert.ok(tags.has(tag), `0x${tag.toString(16)}`)
  const list = await alice.do('GetAttributeList', [uid(id)])
  const named = list.nodes.slice(1)
  assert.deepEqual(named[0], vendorReference('one'))
  const listed = named.flatMap((node) => (node.type === 'Enumeration' ? [node.value] : []))
  assert.deepEqual(new Set([...listed, Tag.Attribute]), tags)
  assert.equal(listed.length, tags.size - 1)
})

test('attributes are added, changed and deleted one by one', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice)
  const groups = async () =>
    attributesIn(await alice.do('GetAttributes', [uid(id), reference(Tag.ObjectGroup)])).map(
      ({ value }) => value,
    )
  assert.deepEqual((await alice.do('AddAttribute', [uid(id), fresh(group('a'))])).nodes, [uid(id)])
  await alice.do('AddAttribute', [uid(id), fresh(group('b'))])
  await alice.fails('ModifyAttribute', [uid(id), fresh(group('c'))], 'MultiValuedAttribute')
  await alice.do('ModifyAttribute', [uid(id), current(group('a')), fresh(group('c'))])
  assert.deepEqual(await groups(), ['c', 'b'])
  await alice.do('DeleteAttribute', [uid(id), current(group('c'))])
  await alice.do('SetAttribute', [uid(id), fresh(group('d'))])
  assert.deepEqual(await groups(), ['d'])
  await alice.do('AddAttribute', [uid(id), fresh(group('e'))])
  await alice.do('DeleteAttribute', [uid(id), reference(Tag.ObjectGroup)])
  assert.deepEqual(await groups(), [])
  await alice.fails('DeleteAttribute', [uid(id), reference(Tag.ObjectGroup)], 'AttributeNotFound')
  await alice.fails('DeleteAttribute', [uid(id)], 'MissingData')
  await alice.fails('AddAttribute', [uid(id)], 'MissingData')
  await alice.fails('AddAttribute', [uid(id), structure(Tag.NewAttribute, [])], 'InvalidField')
  await alice.fails(
    'AddAttribute',
    [uid(id), structure(Tag.NewAttribute, [group('a'), group('b')])],
    'InvalidField',
  )
})

test('the failures of the OASIS test cases: read-only, single-valued, a repeated name, a late date', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice, name('n'), dateTime(Tag.ActivationDate, 1))
  const compromised = fresh(enumeration(Tag.State, Enumeration.State.Compromised))
  assert.equal(await alice.fails('ModifyAttribute', [uid(id), compromised], 'AttributeReadOnly'), 'DENIED')
  await alice.do('AddAttribute', [uid(id), fresh(textString(Tag.Description, 'one'))])
  await alice.fails(
    'AddAttribute',
    [uid(id), fresh(textString(Tag.Description, 'two'))],
    'AttributeSingleValued',
  )
  await alice.fails('AddAttribute', [uid(id), fresh(name('n'))], 'NonUniqueNameAttribute')
  const late = fresh(dateTime(Tag.ActivationDate, 2))
  assert.equal(
    await alice.fails('ModifyAttribute', [uid(id), late], 'WrongKeyLifecycleState'),
    'ACTIVATION_DATE:!PRE_ACTIVE',
  )
  const old = kmipClient(kms.user('alice'), { version: '1.4' })
  assert.equal(await old.fails('ModifyAttribute', [uid(id), late], 'PermissionDenied'), 'DENIED')
})

test('a digest names the format of the key from 1.1 on', async () => {
  const id = await createAesKey(kmipClient(kms.user('alice')))
  for (const version of kmipVersions) {
    const { nodes } = await kmipClient(kms.user('alice'), { version }).do('GetAttributes', [uid(id)])
    const list = nodes.find(({ tag }) => tag === Tag.Attributes)
    const digest = list?.type === 'Structure' ? list.value.find(({ tag }) => tag === Tag.Digest) : undefined
    assert.ok(digest?.type === 'Structure')
    const named = digest.value.some(({ tag }) => tag === Tag.KeyFormatType)
    assert.equal(named, version !== '1.0', version)
  }
})

test('a key that is requested in another format has a digest of this format and one of Raw', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { KeyFormatType: format } = Enumeration
  const asked = enumeration(Tag.KeyFormatType, format.TransparentSymmetricKey)
  const id = await createAesKey(alice, asked)
  const { nodes } = await alice.do('GetAttributes', [uid(id), reference(Tag.Digest)])
  const list = nodes.find(({ tag }) => tag === Tag.Attributes)
  assert.ok(list?.type === 'Structure')
  assert.deepEqual(
    list.value.map((digest) => digest.type === 'Structure' && digest.value.at(-1)?.value),
    [format.TransparentSymmetricKey, format.Raw],
  )
})

test('a refusal changes nothing', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice)
  const earlier = attributesIn(await alice.do('GetAttributes', [uid(id)]))
  shift = 5
  await alice.fails('AddAttribute', [uid(id), fresh(integer(Tag.Comment, 1))], 'InvalidAttributeValue')
  await alice.fails('DeleteAttribute', [uid(id), reference(Tag.Comment)], 'AttributeNotFound')
  assert.deepEqual(attributesIn(await alice.do('GetAttributes', [uid(id)])), earlier)
})

test('LastChangeDate advances with a change, not with a read', async () => {
  const alice = kmipClient(kms.user('alice'))
  shift = 0
  const { id } = await made(alice)
  const changed = async () =>
    Number(attributesIn(await alice.do('GetAttributes', [uid(id), reference(Tag.LastChangeDate)]))[0]?.value)
  const first = await changed()
  shift = 10
  assert.equal(await changed(), first)
  await alice.do('SetAttribute', [uid(id), fresh(textString(Tag.Comment, 'x'))])
  assert.ok((await changed()) >= first + 10)
})

test('AdjustAttribute changes numbers, and refuses other types', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice, interval(Tag.RotateInterval, 60))
  const adjust = (tag: number, type: keyof typeof Enumeration.AdjustmentType, by?: number) => [
    uid(id),
    reference(tag),
    enumeration(Tag.AdjustmentType, Enumeration.AdjustmentType[type]),
    by === undefined ? undefined : integer(Tag.AdjustmentValue, by),
  ]
  await alice.do('AdjustAttribute', adjust(Tag.RotateInterval, 'Increment', 40))
  await alice.do('AdjustAttribute', adjust(Tag.RotateInterval, 'Decrement'))
  await alice.do('AdjustAttribute', adjust(Tag.Sensitive, 'Negate'))
  const asked = [reference(Tag.RotateInterval), reference(Tag.Sensitive)]
  assert.deepEqual(attributesIn(await alice.do('GetAttributes', [uid(id), ...asked])), [
    interval(Tag.RotateInterval, 99),
    boolean(Tag.Sensitive, true),
  ])
  await alice.fails('AdjustAttribute', adjust(Tag.RotateInterval, 'Decrement', 100), 'NumericRange')
  await alice.fails('AdjustAttribute', adjust(Tag.State, 'Increment'), 'ReadOnlyAttribute')
  await alice.fails('AdjustAttribute', adjust(Tag.Comment, 'Increment'), 'AttributeNotFound')
  await alice.fails('AdjustAttribute', [uid(id), reference(Tag.Comment)], 'MissingData')
})

test('a 1.x client gets the indexes of the remaining instances', async () => {
  const alice = kmipClient(kms.user('alice'), { version: '1.4' })
  const { id } = await made(alice, group('a'), group('b'), group('c'))
  await alice.do('DeleteAttribute', [uid(id), reference(Tag.ObjectGroup), integer(Tag.AttributeIndex, 1)])
  const { json } = await kms.user('alice').call('POST', '/kmip/1_4', {
    json: {
      tag: 'GetAttributes',
      value: [
        { tag: 'UniqueIdentifier', type: 'TextString', value: id },
        { tag: 'AttributeName', type: 'TextString', value: 'Object Group' },
      ],
    },
  })
  const member = (tag: string, type: string, value: unknown) => ({ tag, type, value })
  const named = member('AttributeName', 'TextString', 'Object Group')
  assert.deepEqual((json as { value: unknown[] }).value.slice(1), [
    member('Attribute', 'Structure', [named, member('AttributeValue', 'TextString', 'a')]),
    member('Attribute', 'Structure', [
      named,
      member('AttributeIndex', 'Integer', 2),
      member('AttributeValue', 'TextString', 'c'),
    ]),
  ])
})

for (const version of kmipVersions.filter((one) => one.startsWith('1.'))) {
  test(`KMIP ${version}: instances by index, and replies that show the attribute`, async () => {
    const alice = kmipClient(kms.user('alice'), { version })
    const { id } = await made(alice, group('a'), group('b'))
    const index = integer(Tag.AttributeIndex, 1)
    const added = await alice.do('AddAttribute', [uid(id), fresh(group('c'))])
    assert.deepEqual(added.nodes, [uid(id), fresh(group('c')), integer(Tag.AttributeIndex, 2)])
    const changed = await alice.do('ModifyAttribute', [uid(id), fresh(group('B')), index])
    assert.deepEqual(changed.nodes, [uid(id), fresh(group('B')), index])
    const gone = await alice.do('DeleteAttribute', [uid(id), reference(Tag.ObjectGroup)])
    assert.equal(shown(gone), 'a')
    // KMIP 1.4 §2.1.1: an index does not change when other instances are added or deleted.
    const none = [uid(id), reference(Tag.ObjectGroup)]
    await alice.fails('DeleteAttribute', none, 'ItemNotFound')
    await alice.fails('ModifyAttribute', [uid(id), fresh(group('A'))], 'ItemNotFound')
    const second = await alice.do('DeleteAttribute', [uid(id), reference(Tag.ObjectGroup), index])
    assert.equal(shown(second), 'B')
    await alice.fails('DeleteAttribute', [uid(id), reference(Tag.ObjectGroup), index], 'ItemNotFound')
    const left = await alice.do('GetAttributes', [uid(id), reference(Tag.ObjectGroup)])
    assert.deepEqual(attributesIn(left), [group('c')])
    const custom = await alice.do('AddAttribute', [uid(id), fresh(vendor('Barcode', 'b1'))])
    assert.deepEqual(custom.nodes, [uid(id), fresh(vendor('Barcode', 'b1'))])
    const barcode = await alice.do('GetAttributes', [uid(id), vendorReference('Barcode')])
    assert.deepEqual(attributesIn(barcode), [vendor('Barcode', 'b1')])
  })

  test(`KMIP ${version} gets no attribute of a later version`, async () => {
    const alice = kmipClient(kms.user('alice'), { version })
    const { id } = await made(alice)
    const tags = new Set(attributesIn(await alice.do('GetAttributes', [uid(id)])).map(({ tag }) => tag))
    assert.equal(tags.has(Tag.Fresh), version >= '1.1')
    assert.equal(tags.has(Tag.OriginalCreationDate), version >= '1.2')
    assert.equal(tags.has(Tag.Sensitive), version >= '1.4')
    for (const tag of [Tag.ShortUniqueIdentifier, Tag.KeyFormatType, Tag.ProtectionStorageMask])
      assert.ok(!tags.has(tag))
  })
}

test('attributes that only 1.x has are stored for 1.x clients, and read-only as in the standard', async () => {
  const owner = kms.user('alice')
  const old = kmipClient(owner, { version: '1.2' })
  const policy = vendor('Operation Policy Name', 'default', 'KMIP1')
  const { id } = await made(old, policy)
  const asked = vendorReference('Operation Policy Name', 'KMIP1')
  assert.deepEqual(attributesIn(await old.do('GetAttributes', [uid(id), asked])), [policy])
  const listed = (await old.do('GetAttributeList', [uid(id)])).nodes
  assert.ok(listed.some((node) => isDeepStrictEqual(node, asked)))
  await old.fails('ModifyAttribute', [uid(id), fresh(policy)], 'PermissionDenied')
  await old.fails('DeleteAttribute', [uid(id), asked], 'PermissionDenied')
  // A client of 1.x gives an object its policy afterwards, once (KMIP 1.4 §3.18).
  for (const version of ['1.0', '1.4'] as const) {
    const client = kmipClient(owner, { version })
    const later = await made(client)
    await client.do('AddAttribute', [uid(later.id), fresh(policy)])
    assert.deepEqual(attributesIn(await client.do('GetAttributes', [uid(later.id), asked])), [policy])
    assert.equal((await client.ask('AddAttribute', [uid(later.id), fresh(policy)])).status, 'OperationFailed')
    await client.fails('ModifyAttribute', [uid(later.id), fresh(policy)], 'PermissionDenied')
    await client.fails('DeleteAttribute', [uid(later.id), asked], 'PermissionDenied')
  }
})

/** The text of the attribute that a reply shows. */
function shown(payload: Payload): unknown {
  const holder = payload.nodes.find(({ type }) => type === 'Structure')
  return holder?.type === 'Structure' ? findMember(holder, Tag.ObjectGroup)?.value : undefined
}

test('a client of 2.0 cannot set an attribute of 2.1', async () => {
  const owner = kms.user('alice')
  const { id } = await made(kmipClient(owner))
  const message = await owner.call('POST', '/kmip', {
    headers: { 'content-type': 'text/xml' },
    text: `<RequestMessage><RequestHeader><ProtocolVersion><ProtocolVersionMajor type="Integer" value="2"/>
      <ProtocolVersionMinor type="Integer" value="0"/></ProtocolVersion><BatchCount type="Integer" value="1"/>
      </RequestHeader><BatchItem><Operation type="Enumeration" value="SetAttribute"/><RequestPayload>
      <UniqueIdentifier type="TextString" value="${id}"/><NewAttribute><RotateInterval type="Interval" value="5"/>
      </NewAttribute></RequestPayload></BatchItem></RequestMessage>`,
  })
  assert.match(message.text, /<ResultReason type="Enumeration" value="InvalidAttribute"\/>/)
})

test('each operation requires its own right, and users without rights cannot detect the object', async () => {
  const owner = kms.user('alice')
  const alice = kmipClient(owner)
  const { id } = await made(alice)
  const bob = kmipClient(kms.user('bob'))
  const asks = [
    ['GetAttributes', [uid(id)], 'getattributes'],
    ['GetAttributeList', [uid(id)], 'getattributes'],
    ['AddAttribute', [uid(id), fresh(group('bob'))], 'addattribute'],
    ['SetAttribute', [uid(id), fresh(textString(Tag.Comment, 'bob'))], 'setattribute'],
    ['ModifyAttribute', [uid(id), fresh(textString(Tag.Comment, 'robert'))], 'modifyattribute'],
    ['DeleteAttribute', [uid(id), reference(Tag.Comment)], 'deleteattribute'],
  ] as const
  for (const [operation, payload] of asks) {
    const stranger = await bob.fails(operation, payload, 'ObjectNotFound')
    const none = await bob.fails(operation, [uid('nothing'), ...payload.slice(1)], 'ObjectNotFound')
    assert.equal(stranger, none)
  }
  const grant = (right: string) =>
    owner.post('/access/grant', { unique_identifier: id, user_id: 'bob', operation_types: [right] })
  await grant('encrypt')
  for (const [operation, payload, right] of asks) {
    if (right !== 'getattributes' || operation === 'GetAttributes')
      await bob.fails(operation, payload, 'PermissionDenied')
    assert.equal((await grant(right)).status, 200)
    await bob.do(operation, payload)
  }
})

test('with Undo a later failure reverts every change of attributes', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice, textString(Tag.Comment, 'before'))
  const answer = await alice.send(
    [
      {
        operation: 'SetAttribute',
        payload: [uid(id), fresh(textString(Tag.Comment, 'after'))],
        id: Buffer.from('1'),
      },
      { operation: 'GetAttributes', payload: [uid(id), reference(Tag.Comment)], id: Buffer.from('2') },
      { operation: 'DeleteAttribute', payload: [uid(id), reference(Tag.Description)], id: Buffer.from('3') },
    ],
    { batchErrorContinuation: 'Undo' },
  )
  assert.deepEqual(
    answer.items.map(({ status }) => status),
    ['OperationUndone', 'OperationUndone', 'OperationFailed'],
  )
  const left = await alice.do('GetAttributes', [uid(id), reference(Tag.Comment)])
  assert.deepEqual(attributesIn(left), [textString(Tag.Comment, 'before')])
})

test('tags of REST and of KMIP are the same tags', async () => {
  const owner = kms.user('alice')
  const alice = kmipClient(owner)
  const { json } = await owner.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['red'] })
  const tags = async (by: string) =>
    attributesIn(await alice.do('GetAttributes', [uid(json.kid), vendorReference('tag', by)]))
  assert.deepEqual(await tags('warder'), [vendor('tag', '["red"]', 'warder')])
  assert.deepEqual(await tags('cosmian'), [vendor('tag', '["red"]', 'cosmian')])
  await alice.do('SetAttribute', [uid(json.kid), fresh(vendor('tag', '["blue","green"]', 'cosmian'))])
  const shown = await owner.get(`/v1/crypto/keys/${json.kid}/tags`)
  assert.deepEqual(shown.json.tags, ['blue', 'green'])
})

test('the keys of a pair created over REST are linked, and have the types PrivateKey and PublicKey', async () => {
  const owner = kms.user('alice')
  const alice = kmipClient(owner)
  const { json } = await owner.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const got = await alice.do('GetAttributes', [
    uid(json.kid),
    reference(Tag.ObjectType),
    reference(Tag.CryptographicAlgorithm),
    reference(Tag.CryptographicLength),
    reference(Tag.CryptographicDomainParameters),
    reference(Tag.Link),
    reference(Tag.State),
  ])
  assert.deepEqual(attributesIn(got), [
    objectType('PrivateKey'),
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
    integer(Tag.CryptographicLength, 256),
    structure(Tag.CryptographicDomainParameters, [
      enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
    ]),
    structure(Tag.Link, [
      enumeration(Tag.LinkType, Enumeration.LinkType.PublicKeyLink),
      textString(Tag.LinkedObjectIdentifier, json.kid_public),
    ]),
    enumeration(Tag.State, Enumeration.State.Active),
  ])
})

test('a link may refer to an object of an earlier item of the batch', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice)
  const link = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.NextLink),
    enumeration(Tag.LinkedObjectIdentifier, Enumeration.UniqueIdentifier.IDPlaceholder),
  ])
  const { items } = await alice.send([
    { operation: 'Create', payload: [objectType('SymmetricKey'), aesAttributes()], id: Buffer.from('1') },
    { operation: 'AddAttribute', payload: [uid(id), fresh(link)], id: Buffer.from('2') },
  ])
  assert.deepEqual(
    items.map(({ status }) => status),
    ['Success', 'Success'],
  )
  const other = items[0]?.payload?.find(({ tag }) => tag === Tag.UniqueIdentifier)?.value
  const got = await alice.do('GetAttributes', [uid(id), reference(Tag.Link)])
  assert.deepEqual(attributesIn(got), [
    structure(Tag.Link, [
      enumeration(Tag.LinkType, Enumeration.LinkType.NextLink),
      textString(Tag.LinkedObjectIdentifier, String(other)),
    ]),
  ])
})

test('the audit log has each item with its operation, object and outcome', async () => {
  const alice = kmipClient(kms.user('alice'))
  const { id } = await made(alice)
  kms.audit.length = 0
  await alice.do('SetAttribute', [uid(id), fresh(textString(Tag.Comment, 'secret remark'))])
  await alice.fails(
    'AddAttribute',
    [uid(id), fresh(textString(Tag.Comment, 'again'))],
    'AttributeSingleValued',
  )
  const records = kms.audit.filter(({ operation }) => operation.startsWith('kmip.'))
  assert.deepEqual(
    records.map(({ operation, object, outcome, reason }) => [operation, object, outcome, reason]),
    [
      ['kmip.SetAttribute', id, 'success', undefined],
      ['kmip.AddAttribute', id, 'failure', 'AttributeSingleValued'],
    ],
  )
  assert.ok(!JSON.stringify(records).includes('remark'))
})

test('bare operations read and write attributes at both paths', async () => {
  const owner = kms.user('alice')
  const { id } = await made(kmipClient(owner))
  const node = (tag: string, type: string, value: unknown) => ({ tag, type, value })
  const target = node('UniqueIdentifier', 'TextString', id)
  const set = await owner.post('/kmip/2_1', {
    tag: 'SetAttribute',
    value: [target, { tag: 'NewAttribute', value: [node('Comment', 'TextString', 'by JSON')] }],
  })
  assert.equal(set.status, 200, set.text)
  assert.deepEqual(set.json, { tag: 'SetAttributeResponse', type: 'Structure', value: [target] })
  const got = await owner.post('/kmip/1_4', {
    tag: 'GetAttributes',
    value: [target, node('AttributeName', 'TextString', 'Comment')],
  })
  assert.deepEqual(got.json.value[1].value, [
    node('AttributeName', 'TextString', 'Comment'),
    node('AttributeValue', 'TextString', 'by JSON'),
  ])
  const denied = await owner.post('/kmip/2_1', {
    tag: 'ModifyAttribute',
    value: [target, { tag: 'NewAttribute', value: [node('State', 'Enumeration', 'Active')] }],
  })
  assert.equal(denied.status, 400)
  assert.equal(denied.json.result_reason, 'AttributeReadOnly')
})

test('nodes that are not attributes are refused in place of attributes, not stored', async () => {
  const alice = kmipClient(kms.user('alice'))
  await alice.fails(
    'Create',
    [objectType('SymmetricKey'), aesAttributes(256, textString(Tag.Username, 'x'))],
    'InvalidAttribute',
  )
})
