import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  dateTime,
  Enumeration,
  enumeration,
  integer,
  kmipVersions,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { grant, startKms } from '@warder/kms/testing'
import { aesKey, inside, mask, nameNode, wrappingSpecification } from '../testing/keys.ts'
import { type Ask, kmipClient } from '../testing/kmip-client.ts'
import { data, hashing, parameters, readBytes, startKmipFixture, use } from '../testing/kmip-fixture.ts'
import { aesAttributes, attributes, uid } from '../testing/nodes.ts'
import {
  createAesKey,
  createRequest,
  getAttributes,
  listIds,
  revocation,
  symmetric,
  usageLimits,
} from '../testing/requests.ts'

// Defects found in other servers of this kind, one test each, on the live server.

const { kms, alice, bob, registerKey } = await startKmipFixture()

test('1: a key with an identifier from the client needs no more database statements than any other', async (t) => {
  const { db } = kms.environment
  const statements = [t.mock.method(db, 'get'), t.mock.method(db, 'all')]
  const asked = async (id: string): Promise<readonly string[]> => {
    for (const { mock } of statements) mock.resetCalls()
    await alice.do('Encrypt', [uid(id), data(Buffer.from('once more'))])
    return statements.flatMap(({ mock }) => mock.calls.map((call) => call.arguments[0].text)).sort()
  }
  const [ours, chosen] = [
    await alice.do('Create', createRequest()),
    await alice.do('Create', createRequest(uid('billing key'))),
  ]
  assert.equal(chosen.id, 'billing key')
  const versions = [
    'SELECT version FROM access_block_head WHERE name = ?',
    'SELECT version FROM managed_object WHERE id = ?',
  ]
  // PostgreSQL does not report whether another connection has committed, and tests use no cache lease.
  const withoutCommit = db.dialect === 'sqlite' ? [] : versions
  for (const { id } of [ours, chosen]) {
    // The first use loads the key and reserves IVs, which is a commit.
    await asked(id)
    await asked(id)
    assert.deepEqual(await asked(id), withoutCommit)
    // After any commit two versions are read again, each by its primary key: the suspended users' and the key's.
    await bob.do('Create', createRequest())
    assert.deepEqual(await asked(id), versions)
    assert.deepEqual(await asked(id), withoutCommit)
  }
})

test('2: every version is supported in JSON, at /kmip and, bare, at /kmip/1_4 and /kmip/2_1', async () => {
  for (const version of kmipVersions)
    await kmipClient(kms.user('alice'), { version, encoding: 'json' }).do('Query')
  for (const path of ['/kmip/1_4', '/kmip/2_1']) {
    const { status, json } = await kms.user('alice').post(path, { tag: 'Query', value: [] })
    assert.deepEqual([status, json.tag], [200, 'QueryResponse'])
  }
})

test('3: a bare operation that fails gets JSON, and a missing right 403', async () => {
  const { id } = await alice.do('Create', createRequest())
  await grant(kms.user('alice'), id, 'bob', 'getattributes')
  const bare = { tag: 'Get', value: [{ tag: 'UniqueIdentifier', type: 'TextString', value: id }] }
  for (const [user, status] of [
    ['bob', 403],
    ['mallory', 404],
  ] as const) {
    const answer = await kms.user(user).post('/kmip/2_1', bare)
    assert.equal(answer.status, status)
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
    assert.match(answer.json.result_reason, /./)
  }
})

test('4: Stop ends the batch, Undo reverts created, changed and destroyed objects, and correlation values are repeated', async () => {
  const id = await createAesKey(alice, nameNode('as before'))
  const before = await getAttributes(alice, id)
  const fails: Ask = { operation: 'Get', payload: [uid('nothing')] }
  const items: readonly Ask[] = [
    {
      operation: 'AddAttribute',
      payload: [uid(id), structure(Tag.NewAttribute, [textString(Tag.Comment, 'x')])],
    },
    { operation: 'Create', payload: createRequest(uid('never made')) },
    { operation: 'Destroy', payload: [uid(id)] },
    fails,
    { operation: 'Ping' },
  ]
  const undone = await alice.send(items, {
    batchErrorContinuation: 'Undo',
    clientCorrelationValue: 'step=4',
  })
  assert.deepEqual(
    undone.items.map(({ status }) => status),
    ['OperationUndone', 'OperationUndone', 'OperationUndone', 'OperationFailed'],
  )
  assert.equal(undone.clientCorrelationValue, 'step=4')
  assert.deepEqual(await getAttributes(alice, id), before)
  await alice.fails('GetAttributes', [uid('never made')], 'ObjectNotFound')
  const stopped = await alice.send([fails, { operation: 'Ping' }], { batchErrorContinuation: 'Stop' })
  assert.equal(stopped.items.length, 1)
})

test('5: the algorithm policy applies to messages and to bare operations', async () => {
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

test('6: no operation exports a key that is not Extractable', async () => {
  const { id } = await alice.do('Create', createRequest(boolean(Tag.Extractable, false)))
  const kek = await registerKey(randomBytes(32), 'AES', mask('WrapKey', 'UnwrapKey'))
  for (const operation of ['Get', 'Export'] as const) {
    await alice.fails(operation, [uid(id)], 'NotExtractable')
    await alice.fails(operation, [uid(id), wrappingSpecification(kek, undefined)], 'NotExtractable')
  }
  const parts = [
    symmetric,
    uid(id),
    integer(Tag.SplitKeyParts, 2),
    integer(Tag.SplitKeyThreshold, 2),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    attributes(mask('Encrypt')),
  ]
  await alice.fails('CreateSplitKey', parts, 'NotExtractable')
})

test('7 and 18: a revoked key can be exported and has its revocation reason, and Revoke never succeeds without effect', async () => {
  const { id } = await alice.do('Create', createRequest())
  await alice.do('Revoke', [uid(id), revocation('Superseded', 'by a better one')])
  await alice.do('Get', [uid(id)])
  const reason = (await getAttributes(alice, id)).find(({ tag }) => tag === Tag.RevocationReason)
  assert.equal(inside(reason, Tag.RevocationReasonCode)?.value, Enumeration.RevocationReasonCode.Superseded)
  assert.equal(inside(reason, Tag.RevocationMessage)?.value, 'by a better one')
  await alice.fails('Revoke', [uid(id), revocation('Superseded')], 'WrongKeyLifecycleState')
})

test('8: uses reduce the count, not the total', async () => {
  const limits = usageLimits(2n)
  const { id } = await alice.do('Create', createRequest(limits))
  const encrypt = [uid(id), data(Buffer.from('x'))]
  await alice.do('Encrypt', encrypt)
  const left = (await getAttributes(alice, id)).find(({ tag }) => tag === Tag.UsageLimits)
  assert.deepEqual(
    [inside(left, Tag.UsageLimitsTotal)?.value, inside(left, Tag.UsageLimitsCount)?.value],
    [2n, 1n],
  )
  await alice.do('Encrypt', encrypt)
  await alice.fails('Encrypt', encrypt, 'PermissionDenied')
})

test('9: a MAC requires a key for MACs, and every streaming operation processes its parts', async () => {
  const forData = await registerKey(randomBytes(32), 'HMAC_SHA256', mask('Encrypt'))
  await alice.fails('MAC', [uid(forData), data(Buffer.from('x'))], 'IncompatibleCryptographicUsageMask')
  const key = randomBytes(32)
  const forMac = await registerKey(key, 'HMAC_SHA256')
  const init = boolean(Tag.InitIndicator, true)
  const final = boolean(Tag.FinalIndicator, true)
  const streamed = async (operation: 'MAC' | 'Hash', more: readonly TtlvNode[], result: number) => {
    const first = await alice.do(operation, [...more, data(Buffer.from('one ')), init])
    const value = byteString(Tag.CorrelationValue, readBytes(first, Tag.CorrelationValue))
    return readBytes(await alice.do(operation, [...more, data(Buffer.from('two')), value, final]), result)
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

test('10: Locate applies offsets, dates, masks and storage, and returns the total number', async () => {
  const group = textString(Tag.ObjectGroup, 'of test 10')
  const ids: string[] = []
  for (let index = 0; index < 5; index++) {
    const day = dateTime(Tag.ProcessStartDate, 1_000_000 + index)
    ids.unshift((await alice.do('Create', createRequest(group, day))).id)
  }
  const page = await alice.do('Locate', [
    integer(Tag.MaximumItems, 2),
    integer(Tag.OffsetItems, 1),
    attributes(group),
  ])
  assert.deepEqual(listIds(page), ids.slice(1, 3))
  assert.equal(page.get(Tag.LocatedItems), 5)
  const between = [1, 3].map((index) => dateTime(Tag.ProcessStartDate, 1_000_000 + index))
  assert.deepEqual(listIds(await alice.do('Locate', [attributes(group, ...between)])), ids.slice(1, 4))
  const byMask = integer(Tag.CryptographicUsageMask, use.Encrypt)
  assert.equal(listIds(await alice.do('Locate', [attributes(group, byMask)])).length, 5)
  const none = integer(Tag.CryptographicUsageMask, use.Sign)
  assert.deepEqual(listIds(await alice.do('Locate', [attributes(group, none)])), [])
  await alice.do('Archive', [uid(ids[0] ?? '')])
  const archived = integer(Tag.StorageStatusMask, Enumeration.StorageStatusMask.ArchivalStorage)
  assert.deepEqual(listIds(await alice.do('Locate', [archived, attributes(group)])), [ids[0]])
})

test('11: every operation accepts the ID placeholder, and without one no operation takes the latest object', async () => {
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
    const { items } = await alice.send([
      {
        operation: 'Create',
        payload: operation === 'Activate' ? [symmetric, aesAttributes()] : createRequest(),
      },
      { operation, payload },
    ])
    assert.equal(items[1]?.status, 'Success', `${operation}: ${items[1]?.reason} ${items[1]?.message}`)
    await alice.fails(operation, payload, 'ObjectNotFound')
  }
})

test('12: a body beyond the limit is refused before it is read', async () => {
  const answer = await kms.user('alice').call('POST', '/kmip', {
    bytes: Buffer.alloc(0),
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(65 * 1024 * 1024),
      expect: '100-continue',
    },
  })
  assert.equal(answer.status, 413)
})
