import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  dateTime,
  Enumeration,
  enumeration,
  integer,
  kmipVersions,
  listVersions,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { type Started, startSharedKms } from '@warder/kms/testing'
import { kmipClient, type Payload } from '../../testing/kmip-client.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'

const on = await startSharedKms({ config: { kmip_draft_3_0: true } })
const off = await startSharedKms()
const client = (kms: Started, version: '2.1' | '3.0', user = 'alice') =>
  kmipClient(kms.user(user), { version })

const reference = (tag: number) => enumeration(Tag.AttributeReference, tag)
const link = (type: number, id: string) =>
  structure(Tag.Link, [enumeration(Tag.LinkType, type), textString(Tag.LinkedObjectIdentifier, id)])
const { ChildLink, NextLink, ParentLink, PreviousLink } = Enumeration.LinkType

function versionsIn(payload: Payload): readonly string[] {
  return payload.nodes.map((node) =>
    node.type === 'Structure' ? node.value.map(({ value }) => String(value)).join('.') : '',
  )
}

function protocolVersion(version: string): TtlvNode {
  const [major, minor] = version.split('.').map(Number)
  return structure(Tag.ProtocolVersion, [
    integer(Tag.ProtocolVersionMajor, major ?? 0),
    integer(Tag.ProtocolVersionMinor, minor ?? 0),
  ])
}

test('Without the setting 3.0 is neither offered nor served', async () => {
  assert.deepEqual(versionsIn(await client(off, '2.1').do('DiscoverVersions')), [...kmipVersions])
  const asked = ['3.0', '2.1'].map(protocolVersion)
  assert.deepEqual(versionsIn(await client(off, '2.1').do('DiscoverVersions', asked)), ['2.1'])
  const { version, items } = await client(off, '3.0').send([{ operation: 'Query' }])
  assert.deepEqual([version, items[0]?.reason], ['2.1', 'UnsupportedProtocolVersion'])
  assert.equal((await off.user('alice').post('/kmip/3_0', { tag: 'Query', value: [] })).status, 404)
})

test('With it both directions negotiate 3.0, and a client of 2.1 stays with its own version', async () => {
  for (const version of ['2.1', '3.0'] as const) {
    assert.deepEqual(versionsIn(await client(on, version).do('DiscoverVersions')), [...listVersions(true)])
    const asked = ['4.0', '3.0', '2.1'].map(protocolVersion)
    assert.deepEqual(versionsIn(await client(on, version).do('DiscoverVersions', asked)), ['3.0', '2.1'])
  }
  const answer = await on.user('alice').post('/kmip/3_0', {
    tag: 'Create',
    value: [
      { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
      {
        tag: 'Attributes',
        value: [
          { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'AES' },
          { tag: 'Name', type: 'TextString', value: 'bare' },
        ],
      },
    ],
  })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json.value[1].type, 'Identifier')
})

test('What one version stores the other reads in its own words', async () => {
  const [old, draft] = [client(on, '2.1'), client(on, '3.0')]
  const { id } = await draft.do('Create', [
    objectType('SymmetricKey'),
    aesAttributes(256, textString(Tag.ObjectGroup, 'arrays'), link(NextLink, 'other')),
  ])
  await old.do('AddAttribute', [uid(id), structure(Tag.NewAttribute, [link(PreviousLink, 'first')])])
  const read = async (by: typeof old, ...tags: readonly number[]) => {
    const [, holder] = (await by.do('GetAttributes', [uid(id), ...tags.map(reference)])).nodes
    assert.ok(holder?.type === 'Structure')
    return holder.value
  }
  assert.deepEqual(await read(old, Tag.Link), [link(NextLink, 'other'), link(PreviousLink, 'first')])
  assert.deepEqual(await read(draft, Tag.PreviousLink), [link(PreviousLink, 'first')])
  assert.deepEqual(await read(draft, Tag.ObjectClass), [
    enumeration(Tag.ObjectClass, Enumeration.ObjectClass.User),
  ])
  assert.deepEqual(await read(old, Tag.ObjectClass), [])
  const listed = async (by: typeof old) =>
    (await by.do('GetAttributeList', [uid(id)])).nodes.slice(1).map(({ value }) => value)
  const [oldList, draftList] = [await listed(old), await listed(draft)]
  assert.ok(oldList.includes(Tag.Link) && !oldList.includes(Tag.ObjectClass))
  for (const tag of [Tag.NextLink, Tag.PreviousLink, Tag.ObjectClass])
    assert.ok(draftList.includes(tag), String(tag))
  assert.ok(!draftList.includes(Tag.Link) && !draftList.includes(Tag.ParentLink))
  const fresh = (node: TtlvNode) => [uid(id), structure(Tag.NewAttribute, [node])]
  await draft.do('SetAttribute', fresh(link(NextLink, 'second')))
  await draft.do('SetAttribute', fresh(link(ParentLink, 'parent')))
  await draft.do('ModifyAttribute', fresh(link(PreviousLink, 'zeroth')))
  await draft.fails('ModifyAttribute', fresh(link(ChildLink, 'none')), 'AttributeNotFound')
  assert.deepEqual(await read(old, Tag.Link), [
    link(NextLink, 'second'),
    link(PreviousLink, 'zeroth'),
    link(ParentLink, 'parent'),
  ])
  await draft.do('ModifyAttribute', fresh(link(PreviousLink, 'first')))
  await draft.do('DeleteAttribute', [uid(id), reference(Tag.ParentLink)])
  await old.fails('DeleteAttribute', [uid(id), reference(Tag.NextLink)], 'AttributeNotFound')
  assert.deepEqual(await read(old, Tag.NextLink), [])
  await draft.do('DeleteAttribute', [uid(id), reference(Tag.NextLink)])
  const legacy = kmipClient(on.user('alice'), { version: '1.4' })
  // Its index in 1.x stays.
  await legacy.fails('DeleteAttribute', [uid(id), reference(Tag.Link)], 'ItemNotFound')
  assert.deepEqual(await read(old, Tag.Link), [link(PreviousLink, 'first')])
  await legacy.do('DeleteAttribute', [uid(id), reference(Tag.Link), integer(Tag.AttributeIndex, 1)])
})

test('Objects are found by their class in 3.0 alone', async () => {
  const draft = client(on, '3.0', 'carol')
  const { id } = await draft.do('Create', [objectType('SymmetricKey'), aesAttributes()])
  const ofClass = (name: 'User' | 'System') =>
    attributes(enumeration(Tag.ObjectClass, Enumeration.ObjectClass[name]))
  const found = async (name: 'User' | 'System') =>
    (await draft.do('Locate', [ofClass(name)])).nodes
      .filter(({ tag }) => tag === Tag.UniqueIdentifier)
      .map(({ value }) => value)
  assert.deepEqual(await found('User'), [id])
  assert.deepEqual(await found('System'), [])
  await client(on, '2.1', 'carol').fails('Locate', [ofClass('User')], 'InvalidAttribute')
})

const nameNode = (name: string) =>
  structure(Tag.Name, [textString(Tag.NameValue, name), enumeration(Tag.NameType, 1)])

test('Deactivate ends the use of an object, with the reasons that a client can give', async () => {
  const draft = client(on, '3.0')
  const made = async () => (await draft.do('Create', [objectType('SymmetricKey'), aesAttributes()])).id
  const reason = (code: keyof typeof Enumeration.DeactivationReasonCode, text = 'done') =>
    structure(Tag.DeactivationReason, [
      enumeration(Tag.DeactivationReasonCode, Enumeration.DeactivationReasonCode[code]),
      textString(Tag.DeactivationMessage, text),
    ])
  const id = await made()
  await draft.fails('Deactivate', [uid(id), reason('UsageLimit')], 'InvalidField')
  await draft.fails('Deactivate', [uid(id), dateTime(Tag.DeactivationDate, 1)], 'FeatureNotSupported')
  await client(on, '3.0', 'bob').fails('Deactivate', [uid(id)], 'ObjectNotFound')
  await draft.do('Activate', [uid(id)])
  assert.equal((await draft.do('Deactivate', [uid(id), reason('Unspecified')])).id, id)
  const [, holder] = (await draft.do('GetAttributes', [uid(id), reference(Tag.State)])).nodes
  assert.deepEqual(holder?.value, [enumeration(Tag.State, Enumeration.State.Deactivated)])
  await draft.fails('Deactivate', [uid(id)], 'WrongKeyLifecycleState')
  const { items } = await client(on, '2.1').send([{ operation: 'Deactivate', payload: [uid(id)] }])
  assert.equal(items[0]?.reason, 'OperationNotSupported')
})

test('Obliterate leaves nothing, with the rights of a removal over REST', async () => {
  const [draft, bob] = [client(on, '3.0'), client(on, '3.0', 'bob')]
  const made = async () => (await draft.do('Create', [objectType('SymmetricKey'), aesAttributes()])).id
  const grant = (id: string, ...operation_types: readonly string[]) =>
    on.user('alice').post('/access/grant', { unique_identifier: id, user_id: 'bob', operation_types })
  const id = await made()
  await bob.fails('Obliterate', [uid(id)], 'ObjectNotFound')
  assert.equal((await grant(id, 'destroy')).status, 200)
  await bob.fails('Obliterate', [uid(id)], 'PermissionDenied')
  await grant(id, 'revoke')
  await draft.do('Activate', [uid(id)])
  await bob.fails('Obliterate', [uid(id)], 'WrongKeyLifecycleState')
  await bob.do('Deactivate', [uid(id)])
  assert.deepEqual((await bob.do('Obliterate', [uid(id)])).nodes, [])
  await draft.fails('GetAttributes', [uid(id)], 'ItemNotFound')
  await draft.fails('Obliterate', [uid(id)], 'ObjectNotFound')
  const destroyed = await made()
  await draft.do('Destroy', [uid(destroyed)])
  await draft.do('Obliterate', [uid(destroyed)])
  await draft.fails('Get', [uid(destroyed)], 'ObjectNotFound')
  const pair = await draft.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.Ed25519),
    ]),
    structure(Tag.PrivateKeyAttributes, [
      integer(Tag.CryptographicUsageMask, Enumeration.CryptographicUsageMask.Sign),
    ]),
    structure(Tag.PublicKeyAttributes, [
      integer(Tag.CryptographicUsageMask, Enumeration.CryptographicUsageMask.Verify),
    ]),
  ])
  const half = String(pair.get(Tag.PrivateKeyUniqueIdentifier))
  await draft.fails('Obliterate', [uid(half)], 'InvalidObjectType')
})

test('CreateGroup makes a group of rights with the rights of REST, and grants nothing', async () => {
  const draft = client(on, '3.0')
  const { id } = await draft.do('CreateGroup', [attributes(nameNode('arrays'))])
  assert.equal(id, 'group:arrays')
  const { json } = await on.user('alice').get('/access/groups/arrays')
  assert.deepEqual([json.user_id, json.members, json.owners], ['group:arrays', [], ['alice']])
  assert.equal((await on.user('bob').get('/access/groups/arrays')).status, 404)
  await client(on, '3.0', 'bob').fails(
    'CreateGroup',
    [attributes(nameNode('arrays'))],
    'NonUniqueNameAttribute',
  )
  await draft.fails('CreateGroup', [attributes(nameNode('group:x'))], 'InvalidAttributeValue')
  await draft.fails('CreateGroup', [attributes()], 'InvalidAttribute')
  const more = attributes(nameNode('y'), textString(Tag.Comment, 'c'))
  await draft.fails('CreateGroup', [more], 'InvalidAttribute')
  const { items } = await draft.send([
    { operation: 'CreateGroup', payload: [attributes(nameNode('z'))] },
    { operation: 'Destroy' },
  ])
  assert.deepEqual([items[0]?.status, items[1]?.reason], ['Success', 'ObjectNotFound'])
})

test('Who may not create objects makes no group', async () => {
  const kms = await startSharedKms({
    config: { kmip_draft_3_0: true, 'roles.crypto_officer_users': ['olga'], 'roles.ceremony_quorum': 1 },
  })
  await client(kms, '3.0', 'bob').fails('CreateGroup', [attributes(nameNode('g'))], 'PermissionDenied')
})

test('A device makes neither users nor credentials', async () => {
  const draft = client(on, '3.0')
  for (const operation of ['CreateUser', 'CreateCredential'] as const)
    await draft.fails(operation, [attributes(nameNode('x'))], 'OperationNotSupported')
})
