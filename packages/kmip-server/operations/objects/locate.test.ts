import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  dateTime,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { type Started, startKms } from '@warder/kms/testing'
import { type Database, openPostgres } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { type KmipClient, kmipClient } from '../../testing/kmip-client.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey, listIds } from '../../testing/requests.ts'

const server = await startTestPostgres()
after(async () => {
  if ('stop' in server) await server.stop()
})

interface Engine {
  readonly name: string
  readonly skip: string | false
  database(): Promise<Database | undefined>
}

const engines: readonly Engine[] = [
  { name: 'SQLite', skip: false, database: async () => undefined },
  {
    name: 'PostgreSQL',
    skip: 'missing' in server ? server.missing : false,
    async database() {
      assert.ok('database' in server)
      return openPostgres({ url: await server.database() })
    },
  },
]

const name = (value: string) =>
  structure(Tag.Name, [
    textString(Tag.NameValue, value),
    enumeration(Tag.NameType, Enumeration.NameType.UninterpretedTextString),
  ])
const group = (value: string) => textString(Tag.ObjectGroup, value)
const fresh = (node: TtlvNode) => structure(Tag.NewAttribute, [node])
const now = () => Math.floor(Date.now() / 1000)

async function found(client: KmipClient, ...wanted: readonly TtlvNode[]): Promise<readonly unknown[]> {
  return listIds(await client.do('Locate', [attributes(...wanted)]))
}

for (const { name: engine, skip, database } of engines) {
  const on = (title: string, run: (kms: Started) => Promise<void>): void => {
    test(`${engine}: ${title}`, { skip }, async () => {
      const db = await database()
      try {
        await using kms = await startKms(db === undefined ? {} : { db })
        await run(kms)
      } finally {
        await db?.close()
      }
    })
  }

  on('names are found as they are written, not in part and not in other letters', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const id = await createAesKey(alice, name('Backup key'))
    await createAesKey(alice, name('Backup key 2'))
    assert.deepEqual(await found(alice, name('Backup key')), [id])
    for (const other of ['backup key', 'Backup', 'Backup key ', '%', 'Backup_key', "' OR '1'='1"])
      assert.deepEqual(await found(alice, name(other)), [], other)
    const uri = structure(Tag.Name, [
      textString(Tag.NameValue, 'Backup key'),
      enumeration(Tag.NameType, Enumeration.NameType.URI),
    ])
    assert.deepEqual(await found(alice, uri), [])
    await alice.do('AddAttribute', [uid(id), fresh(name('second name'))])
    assert.deepEqual(await found(alice, name('second name'), name('Backup key')), [id])
    assert.deepEqual(await found(alice, name('second name'), name('Backup key 2')), [])
  })

  on('pages hold together, the newest object comes first, and the total is that of all', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const made: string[] = []
    for (let index = 0; index < 5; index++) made.push(await createAesKey(alice, group('five')))
    await createAesKey(alice, group('other'))
    const expected = made.toReversed()
    assert.deepEqual(await found(alice, group('five')), expected)
    const page = (offset: number, most: number) =>
      alice.do('Locate', [
        integer(Tag.MaximumItems, most),
        integer(Tag.OffsetItems, offset),
        attributes(group('five')),
      ])
    for (const [offset, most] of [
      [0, 2],
      [2, 2],
      [4, 2],
      [5, 2],
      [0, 0],
    ] as const) {
      const answer = await page(offset, most)
      assert.equal(answer.get(Tag.LocatedItems), 5)
      assert.deepEqual(listIds(answer), expected.slice(offset, offset + most))
    }
    assert.equal((await alice.do('Locate', [attributes(group('five'))])).get(Tag.LocatedItems), undefined)
    await alice.fails('Locate', [integer(Tag.OffsetItems, -1)], 'InvalidField')
  })

  on("nobody finds what is nobody's business of theirs, and a grant of locate is enough", async (kms) => {
    const owner = kms.user('alice')
    const id = await createAesKey(kmipClient(owner), name('mine'))
    const bob = kmipClient(kms.user('bob'))
    const grant = (user: string, right: string) =>
      owner.post('/access/grant', { unique_identifier: id, user_id: user, operation_types: [right] })
    assert.deepEqual(await found(bob, name('mine')), [])
    assert.deepEqual(await found(bob, uid(id)), [])
    await grant('bob', 'encrypt')
    assert.deepEqual(await found(bob), [])
    await grant('bob', 'locate')
    assert.deepEqual(await found(bob, name('mine')), [id])
    assert.deepEqual(await found(bob), [id])
    assert.deepEqual(await found(kmipClient(kms.user('carol'))), [])
    await grant('*', 'locate')
    assert.deepEqual(await found(kmipClient(kms.user('carol'))), [id])
    assert.deepEqual(await found(bob), [id])
  })

  on('dates are found exactly or within a range, masks by the bits that are asked for', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const start = now() + 1000
    const early = await createAesKey(alice, dateTime(Tag.ProtectStopDate, start))
    const late = await createAesKey(alice, dateTime(Tag.ProtectStopDate, start + 500))
    const stop = (at: number) => dateTime(Tag.ProtectStopDate, at)
    assert.deepEqual(await found(alice, stop(start)), [early])
    assert.deepEqual(await found(alice, stop(start - 5), stop(start + 5)), [early])
    assert.deepEqual(await found(alice, stop(start + 500), stop(start)), [late, early])
    await alice.fails('Locate', [attributes(stop(1), stop(2), stop(3))], 'InvalidField')
    const { Encrypt, Decrypt, Sign } = Enumeration.CryptographicUsageMask
    const mask = (bits: number) => integer(Tag.CryptographicUsageMask, bits)
    assert.equal((await found(alice, mask(Encrypt))).length, 2)
    assert.equal((await found(alice, mask(Encrypt | Decrypt))).length, 2)
    assert.equal((await found(alice, mask(Encrypt | Sign))).length, 0)
  })

  on('a state is the one of now, and what is destroyed is looked for on purpose only', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const state = (which: keyof typeof Enumeration.State) => enumeration(Tag.State, Enumeration.State[which])
    const waiting = await createAesKey(alice)
    const active = await createAesKey(alice, dateTime(Tag.ActivationDate, 1))
    const ended = await createAesKey(
      alice,
      dateTime(Tag.ActivationDate, 1),
      dateTime(Tag.DeactivationDate, now() - 10),
    )
    assert.deepEqual(await found(alice, state('PreActive')), [waiting])
    assert.deepEqual(await found(alice, state('Active')), [active])
    assert.deepEqual(await found(alice, state('Deactivated')), [ended])
    await alice.do('Destroy', [uid(waiting)])
    assert.deepEqual(await found(alice, uid(waiting)), [])
    const { OnLineStorage, DestroyedStorage } = Enumeration.StorageStatusMask
    const stored = async (mask: number) =>
      listIds(await alice.do('Locate', [integer(Tag.StorageStatusMask, mask), attributes()]))
    assert.deepEqual(await stored(DestroyedStorage), [waiting])
    assert.deepEqual(await stored(OnLineStorage | DestroyedStorage), [ended, active, waiting])
  })

  on(
    'what is archived is looked for on purpose only, and is there again when it is recovered',
    async (kms) => {
      const alice = kmipClient(kms.user('alice'))
      const id = await createAesKey(alice, name('old'))
      const { OnLineStorage, ArchivalStorage, DestroyedStorage } = Enumeration.StorageStatusMask
      const stored = async (mask: number) =>
        listIds(await alice.do('Locate', [integer(Tag.StorageStatusMask, mask), attributes(name('old'))]))
      const archiveDates = async () =>
        found(alice, dateTime(Tag.ArchiveDate, now() - 60), dateTime(Tag.ArchiveDate, now() + 60))
      await alice.do('Archive', [uid(id)])
      assert.deepEqual(await found(alice, name('old')), [])
      assert.deepEqual(await stored(OnLineStorage | DestroyedStorage), [])
      assert.deepEqual(await stored(ArchivalStorage), [id])
      assert.deepEqual(await archiveDates(), [])
      const got = await alice.do('GetAttributes', [
        uid(id),
        enumeration(Tag.AttributeReference, Tag.ArchiveDate),
      ])
      assert.match(JSON.stringify(got.nodes), /DateTime/)
      await alice.do('Recover', [uid(id)])
      assert.deepEqual(await found(alice, name('old')), [id])
      assert.deepEqual(await stored(ArchivalStorage), [])
    },
  )

  on('what many add to one object at the same time is all there, and found', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const id = await createAesKey(alice)
    const names = ['a', 'b', 'c', 'd', 'e'].map(name)
    await Promise.all(names.map((one) => alice.do('AddAttribute', [uid(id), fresh(one)])))
    for (const one of names) assert.deepEqual(await found(alice, one), [id])
    assert.deepEqual(await found(alice, ...names), [id])
    await alice.do('ModifyAttribute', [
      uid(id),
      structure(Tag.CurrentAttribute, [name('a')]),
      fresh(name('z')),
    ])
    assert.deepEqual(await found(alice, name('a')), [])
    assert.deepEqual(await found(alice, name('z'), name('b')), [id])
  })

  on('groups give their fresh objects or their default one', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const one = await createAesKey(alice, group('pool'))
    const two = await createAesKey(alice, group('pool'))
    const { GroupMemberFresh, GroupMemberDefault } = Enumeration.ObjectGroupMember
    const members = async (which: number) =>
      listIds(
        await alice.do('Locate', [enumeration(Tag.ObjectGroupMember, which), attributes(group('pool'))]),
      )
    assert.deepEqual(await members(GroupMemberFresh), [two, one])
    await alice.do('Get', [uid(two)])
    assert.deepEqual(await members(GroupMemberFresh), [one])
    assert.deepEqual(await members(GroupMemberDefault), [two])
  })

  on('only finding exactly one object fills the placeholder', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    await createAesKey(alice, group('two'))
    const newest = await createAesKey(alice, group('two'), name('one'))
    const attempt = async (...locate: readonly TtlvNode[]) => {
      const { items } = await alice.send([
        { operation: 'Locate', payload: locate, id: Buffer.from('1') },
        { operation: 'GetAttributes', payload: [], id: Buffer.from('2') },
      ])
      return items[1]?.status === 'Success'
        ? new Map(items[1].payload?.map(({ tag, value }) => [tag, value])).get(Tag.UniqueIdentifier)
        : items[1]?.reason
    }
    assert.equal(await attempt(attributes(name('one'))), newest)
    assert.equal(await attempt(integer(Tag.MaximumItems, 1), attributes(group('two'))), newest)
    assert.equal(await attempt(attributes(group('two'))), 'ObjectNotFound')
    assert.equal(await attempt(attributes(name('none'))), 'ObjectNotFound')
  })

  on('a batch that may be undone finds what it has made and changed itself', async (kms) => {
    const alice = kmipClient(kms.user('alice'))
    const kept = await createAesKey(alice, group('batch'))
    const gone = await createAesKey(alice, group('batch'))
    const ask = (number: number) => Buffer.from(String(number))
    const { items } = await alice.send(
      [
        {
          operation: 'Create',
          payload: [objectType('SymmetricKey'), aesAttributes(128, group('batch'))],
          id: ask(1),
        },
        {
          operation: 'DeleteAttribute',
          payload: [uid(gone), enumeration(Tag.AttributeReference, Tag.ObjectGroup)],
          id: ask(2),
        },
        { operation: 'Locate', payload: [attributes(group('batch'))], id: ask(3) },
        { operation: 'Locate', payload: [attributes(uid(kept))], id: ask(4) },
      ],
      { batchErrorContinuation: 'Undo' },
    )
    const made = items[0]?.payload?.find(({ tag }) => tag === Tag.UniqueIdentifier)?.value
    const located = items.slice(2).map(({ payload }) => payload?.map(({ value }) => value))
    assert.deepEqual(located, [[made, kept], [kept]])
    assert.deepEqual(await found(alice, group('batch')), [made, kept])
  })

  on("tags, links, applications and vendors' attributes lead to their objects", async (kms) => {
    const owner = kms.user('alice')
    const alice = kmipClient(owner)
    const { json } = await owner.post('/v1/crypto/keys', {
      kty: 'EC',
      crv: 'P-256',
      alg: 'ES256',
      tags: ['web'],
    })
    const tagged = (value: string) =>
      structure(Tag.Attribute, [
        textString(Tag.VendorIdentification, 'cosmian'),
        textString(Tag.AttributeName, 'tag'),
        textString(Tag.AttributeValue, value),
      ])
    assert.deepEqual(await found(alice, tagged('["web","_sk"]')), [json.kid])
    const link = (type: keyof typeof Enumeration.LinkType, to: string) =>
      structure(Tag.Link, [
        enumeration(Tag.LinkType, Enumeration.LinkType[type]),
        textString(Tag.LinkedObjectIdentifier, to),
      ])
    assert.deepEqual(await found(alice, link('PrivateKeyLink', json.kid)), [json.kid_public])
    assert.deepEqual(await found(alice, link('PublicKeyLink', json.kid)), [])
    // A half whose own link is gone is still found by the link of the other.
    const reference = enumeration(Tag.AttributeReference, Tag.Link)
    await alice.do('DeleteAttribute', [uid(json.kid), reference])
    assert.deepEqual(await found(alice, link('PrivateKeyLink', json.kid)), [json.kid_public])
    assert.deepEqual(await found(alice, link('PublicKeyLink', json.kid_public)), [])
    const tape = (data: string | undefined) =>
      structure(Tag.ApplicationSpecificInformation, [
        textString(Tag.ApplicationNamespace, 'LIBRARY-LTO'),
        data === undefined ? undefined : textString(Tag.ApplicationData, data),
      ])
    const first = await createAesKey(alice, tape('1'))
    const both = await createAesKey(alice, tape('2'), tagged('["tape"]'))
    assert.deepEqual(await found(alice, tape('2')), [both])
    assert.deepEqual(await found(alice, tape(undefined)), [both, first])
    assert.deepEqual(await found(alice, tape(undefined), tagged('["tape"]')), [both])
    await alice.fails('Locate', [attributes(textString(Tag.Username, 'x'))], 'InvalidAttribute')
    await alice.fails('Locate', [attributes(textString(Tag.State, 'Active'))], 'InvalidField')
  })
}

test('a search without an index scans rows one by one', async () => {
  await using kms = await startKms()
  const alice = kmipClient(kms.user('alice'))
  const remark = (value: string) => textString(Tag.Comment, value)
  await createAesKey(alice, remark('one'))
  const two = await createAesKey(alice, remark('two'))
  assert.deepEqual(await found(alice, remark('two')), [two])
  const raw = enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw)
  assert.equal((await found(alice, raw)).length, 2)
})

test('a 1.x client searches by the attribute names of its version, alone and in a TemplateAttribute', async () => {
  await using kms = await startKms()
  const owner = kms.user('alice')
  const id = await createAesKey(kmipClient(owner), name('forti'), group('g'))
  const old = kmipClient(owner, { version: '1.0' })
  assert.deepEqual(await found(old, name('forti'), group('g')), [id])
  const xml = (inner: string) => `<RequestMessage><RequestHeader><ProtocolVersion>
    <ProtocolVersionMajor type="Integer" value="1"/><ProtocolVersionMinor type="Integer" value="0"/></ProtocolVersion>
    <BatchCount type="Integer" value="1"/></RequestHeader><BatchItem><Operation type="Enumeration" value="Locate"/>
    <RequestPayload>${inner}</RequestPayload></BatchItem></RequestMessage>`
  const attribute = `<Attribute><AttributeName type="TextString" value="Object Group"/>
    <AttributeValue type="TextString" value="g"/></Attribute>`
  const answer = await owner.call('POST', '/kmip', {
    headers: { 'content-type': 'text/xml' },
    text: xml(`<TemplateAttribute>${attribute}</TemplateAttribute>`),
  })
  assert.ok(answer.text.includes(id), answer.text)
})

test('bare searches are answered at both paths', async () => {
  await using kms = await startKms()
  const owner = kms.user('alice')
  const id = await createAesKey(kmipClient(owner), group('bare'))
  const node = (tag: string, type: string, value: unknown) => ({ tag, type, value })
  const located = node('UniqueIdentifier', 'TextString', id)
  const wanted = { tag: 'Attributes', value: [node('ObjectGroup', 'TextString', 'bare')] }
  const most = node('MaximumItems', 'Integer', 5)
  const two = await owner.post('/kmip/2_1', { tag: 'Locate', value: [most, wanted] })
  assert.deepEqual(two.json, {
    tag: 'LocateResponse',
    type: 'Structure',
    value: [node('LocatedItems', 'Integer', 1), located],
  })
  const attribute = [
    node('AttributeName', 'TextString', 'Object Group'),
    node('AttributeValue', 'TextString', 'bare'),
  ]
  const one = await owner.post('/kmip/1_4', {
    tag: 'Locate',
    value: [{ tag: 'Attribute', value: attribute }],
  })
  assert.deepEqual(one.json.value, [located])
  const none = await owner.post('/kmip/2_1', {
    tag: 'Locate',
    value: [{ tag: 'Attributes', value: [node('ObjectGroup', 'TextString', 'other')] }],
  })
  assert.equal(none.status, 200)
  assert.deepEqual(none.json.value, [])
})
