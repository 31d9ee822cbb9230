import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import {
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  kmipVersions,
  longInteger,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startKms } from '@warder/kms/testing'
import { aesKey, inside, mask, nameNode, wrappingSpecification } from '../testing/keys.ts'
import { type Ask, kmipClient } from '../testing/kmip-client.ts'
import { aesAttributes, attributes, uid } from '../testing/nodes.ts'
import { bytesOf, data, hashing, parameters, startCryptoWorld, use } from './fixtures/crypto-world.ts'
import { attributesOf, created, idsIn, revocation, symmetric } from './fixtures/peer-requests.ts'

// Defects found in other servers of this kind, one test each, on the live server.

const world = await startCryptoWorld()
after(() => world.kms[Symbol.asyncDispose]())

test('1: a key with an identifier of the client’s choice asks no more of the database than any other', async (t) => {
  const { db } = world.kms.environment
  const statements = [t.mock.method(db, 'get'), t.mock.method(db, 'all')]
  const asked = async (id: string): Promise<readonly string[]> => {
    for (const { mock } of statements) mock.resetCalls()
    await world.alice.do('Encrypt', [uid(id), data(Buffer.from('once more'))])
    return statements.flatMap(({ mock }) => mock.calls.map((call) => call.arguments[0].text)).sort()
  }
  const [ours, chosen] = [
    await world.alice.do('Create', created()),
    await world.alice.do('Create', created(uid('billing key'))),
  ]
  assert.equal(chosen.id, 'billing key')
  const versions = [
    'SELECT version FROM access_block_head WHERE name = ?',
    'SELECT version FROM managed_object WHERE id = ?',
  ]
  // PostgreSQL does not tell whether anybody has committed, and tests let no lease pass for an answer.
  const withoutCommit = db.dialect === 'sqlite' ? [] : versions
  for (const { id } of [ours, chosen]) {
    // The first use loads the key and reserves IVs, which is a commit.
    await asked(id)
    await asked(id)
    assert.deepEqual(await asked(id), withoutCommit)
    // After anybody's commit two versions are read again, each by its primary key: the blocked users' and the key's.
    await world.bob.do('Create', created())
    assert.deepEqual(await asked(id), versions)
    assert.deepEqual(await asked(id), withoutCommit)
  }
})

test('2: every version is spoken in JSON, at /kmip and, bare, at /kmip/1_4 and /kmip/2_1', async () => {
  for (const version of kmipVersions)
    await kmipClient(world.kms.user('alice'), { version, encoding: 'json' }).do('Query')
  for (const path of ['/kmip/1_4', '/kmip/2_1']) {
    const { status, json } = await world.kms.user('alice').post(path, { tag: 'Query', value: [] })
    assert.deepEqual([status, json.tag], [200, 'QueryResponse'])
  }
})

test('3: a bare operation that fails is answered in JSON, and a right that is missing is 403', async () => {
  const { id } = await world.alice.do('Create', created())
  const alice = world.kms.user('alice')
  const grant = { unique_identifier: id, user_id: 'bob', operation_types: ['getattributes'] }
  assert.equal((await alice.post('/access/grant', grant)).status, 200)
  const bare = { tag: 'Get', value: [{ tag: 'UniqueIdentifier', type: 'TextString', value: id }] }
  for (const [user, status] of [
    ['bob', 403],
    ['mallory', 404],
  ] as const) {
    const answer = await world.kms.user(user).post('/kmip/2_1', bare)
    assert.equal(answer.status, status)
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
    assert.match(answer.json.result_reason, /./)
  }
})

test('4: Stop stops, Undo takes back what was made, changed and destroyed, and correlation values come back', async () => {
  const { id } = await world.alice.do('Create', [symmetric, aesAttributes(256, nameNode('as before'))])
  const before = await attributesOf(world.alice, id)
  const fails: Ask = { operation: 'Get', payload: [uid('nothing')] }
  const items: readonly Ask[] = [
    {
      operation: 'AddAttribute',
      payload: [uid(id), structure(Tag.NewAttribute, [textString(Tag.Comment, 'x')])],
    },
    { operation: 'Create', payload: created(uid('never made')) },
    { operation: 'Destroy', payload: [uid(id)] },
    fails,
    { operation: 'Ping' },
  ]
  const undone = await world.alice.send(items, {
    batchErrorContinuation: 'Undo',
    clientCorrelationValue: 'step=4',
  })
  assert.deepEqual(
    undone.items.map(({ status }) => status),
    ['OperationUndone', 'OperationUndone', 'OperationUndone', 'OperationFailed'],
  )
  assert.equal(undone.clientCorrelationValue, 'step=4')
  assert.deepEqual(await attributesOf(world.alice, id), before)
  await world.alice.fails('GetAttributes', [uid('never made')], 'ObjectNotFound')
  const stopped = await world.alice.send([fails, { operation: 'Ping' }], { batchErrorContinuation: 'Stop' })
  assert.equal(stopped.items.length, 1)
})

test('5: the algorithm policy holds in a message as it does for a bare operation', async () => {
  await using kms = await startKms({
    config: { 'kmip.policy_id': 'CUSTOM', 'kmip.allowlists.aes_key_sizes': ['256'] },
  })
  const alice = kmipClient(kms.user('alice'))
  const refused = await alice.ask('Create', [symmetric, aesAttributes(128)])
  assert.equal(refused.status, 'OperationFailed')
  const inBatch = await alice.send([
    { operation: 'Ping' },
    { operation: 'Register', payload: [symmetric, attributes(mask('Encrypt')), aesKey(randomBytes(16))] },
  ])
  assert.deepEqual(
    inBatch.items.map(({ status }) => status),
    ['Success', 'OperationFailed'],
  )
  await alice.do('Create', [symmetric, aesAttributes(256)])
})

test('6: a key that is not Extractable leaves by no way', async () => {
  const { id } = await world.alice.do('Create', created(boolean(Tag.Extractable, false)))
  const kek = await world.registered(randomBytes(32), 'AES', mask('WrapKey', 'UnwrapKey'))
  for (const operation of ['Get', 'Export'] as const) {
    await world.alice.fails(operation, [uid(id)], 'NotExtractable')
    await world.alice.fails(operation, [uid(id), wrappingSpecification(kek, undefined)], 'NotExtractable')
  }
  const parts = [
    symmetric,
    uid(id),
    integer(Tag.SplitKeyParts, 2),
    integer(Tag.SplitKeyThreshold, 2),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    attributes(mask('Encrypt')),
  ]
  await world.alice.fails('CreateSplitKey', parts, 'NotExtractable')
})

test('7 and 18: a revoked key can still be got, says why it was revoked, and a revocation is never pretended', async () => {
  const { id } = await world.alice.do('Create', created())
  await world.alice.do('Revoke', [uid(id), revocation('Superseded', 'by a better one')])
  await world.alice.do('Get', [uid(id)])
  const reason = (await attributesOf(world.alice, id)).find(({ tag }) => tag === Tag.RevocationReason)
  assert.equal(inside(reason, Tag.RevocationReasonCode)?.value, Enumeration.RevocationReasonCode.Superseded)
  assert.equal(inside(reason, Tag.RevocationMessage)?.value, 'by a better one')
  await world.alice.fails('Revoke', [uid(id), revocation('Superseded')], 'WrongKeyLifecycleState')
})

test('8: uses are taken from the count, the total stays', async () => {
  const limits = structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, 2n),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit.Object),
  ])
  const { id } = await world.alice.do('Create', created(limits))
  const encrypt = [uid(id), data(Buffer.from('x'))]
  await world.alice.do('Encrypt', encrypt)
  const left = (await attributesOf(world.alice, id)).find(({ tag }) => tag === Tag.UsageLimits)
  assert.deepEqual(
    [inside(left, Tag.UsageLimitsTotal)?.value, inside(left, Tag.UsageLimitsCount)?.value],
    [2n, 1n],
  )
  await world.alice.do('Encrypt', encrypt)
  await world.alice.fails('Encrypt', encrypt, 'PermissionDenied')
})

test('9: a MAC takes a key made for MACs, and everything that streams does so in earnest', async () => {
  const forData = await world.registered(randomBytes(32), 'HMAC_SHA256', mask('Encrypt'))
  await world.alice.fails('MAC', [uid(forData), data(Buffer.from('x'))], 'IncompatibleCryptographicUsageMask')
  const key = randomBytes(32)
  const forMac = await world.registered(key, 'HMAC_SHA256')
  const init = boolean(Tag.InitIndicator, true)
  const final = boolean(Tag.FinalIndicator, true)
  const streamed = async (operation: 'MAC' | 'Hash', more: readonly TtlvNode[], result: number) => {
    const first = await world.alice.do(operation, [...more, data(Buffer.from('one ')), init])
    const value = byteString(Tag.CorrelationValue, bytesOf(first, Tag.CorrelationValue))
    return bytesOf(await world.alice.do(operation, [...more, data(Buffer.from('two')), value, final]), result)
  }
  assert.deepEqual(
    await streamed('MAC', [uid(forMac)], Tag.MACData),
    createHmac('sha256', key).update('one two').digest(),
  )
  assert.deepEqual(
    await streamed('Hash', [parameters(hashing('SHA_512'))], Tag.Data),
    createHash('sha512').update('one two').digest(),
  )
})

test('10: Locate minds offsets, dates, masks and storage, and tells how many there are in all', async () => {
  const group = textString(Tag.ObjectGroup, 'of test 10')
  const ids: string[] = []
  for (let index = 0; index < 5; index++) {
    const day = dateTime(Tag.ProcessStartDate, 1_000_000 + index)
    ids.unshift((await world.alice.do('Create', created(group, day))).id)
  }
  const page = await world.alice.do('Locate', [
    integer(Tag.MaximumItems, 2),
    integer(Tag.OffsetItems, 1),
    attributes(group),
  ])
  assert.deepEqual(idsIn(page), ids.slice(1, 3))
  assert.equal(page.get(Tag.LocatedItems), 5)
  const between = [1, 3].map((index) => dateTime(Tag.ProcessStartDate, 1_000_000 + index))
  assert.deepEqual(idsIn(await world.alice.do('Locate', [attributes(group, ...between)])), ids.slice(1, 4))
  const byMask = integer(Tag.CryptographicUsageMask, use.Encrypt)
  assert.equal(idsIn(await world.alice.do('Locate', [attributes(group, byMask)])).length, 5)
  const none = integer(Tag.CryptographicUsageMask, use.Sign)
  assert.deepEqual(idsIn(await world.alice.do('Locate', [attributes(group, none)])), [])
  await world.alice.do('Archive', [uid(ids[0] ?? '')])
  const archived = integer(Tag.StorageStatusMask, Enumeration.StorageStatusMask.ArchivalStorage)
  assert.deepEqual(idsIn(await world.alice.do('Locate', [archived, attributes(group)])), [ids[0]])
})

test('11: every operation takes the ID placeholder, and without one nobody is given the latest object', async () => {
  const operations = [
    'Get',
    'GetAttributes',
    'GetAttributeList',
    'Encrypt',
    'Check',
    'ObtainLease',
    'Export',
    'Archive',
    'Recover',
    'ReKey',
    'Activate',
  ] as const
  for (const operation of operations) {
    const payload = operation === 'Encrypt' ? [data(Buffer.from('x'))] : []
    const { items } = await world.alice.send([
      {
        operation: 'Create',
        payload: operation === 'Activate' ? [symmetric, aesAttributes()] : created(),
      },
      { operation, payload },
    ])
    assert.equal(items[1]?.status, 'Success', `${operation}: ${items[1]?.reason} ${items[1]?.message}`)
    await world.alice.fails(operation, payload, 'ObjectNotFound')
  }
})

test('12: a body beyond the limit is refused before it is read', async () => {
  const answer = await world.kms.user('alice').call('POST', '/kmip', {
    bytes: Buffer.alloc(0),
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(65 * 1024 * 1024),
      expect: '100-continue',
    },
  })
  assert.equal(answer.status, 413)
})
