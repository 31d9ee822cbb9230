import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Enumeration, enumeration, Tag } from '@warder/kmip-codec'
import { startKms } from '@warder/kms/testing'
import { query as declare } from '@warder/storage'
import { type Ask, kmipClient } from '../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../testing/nodes.ts'

const everything = declare<[], { readonly id: string; readonly state: string }>(
  'SELECT id, state FROM managed_object',
)
const make: Ask = { operation: 'Create', payload: [objectType('SymmetricKey'), aesAttributes()] }
const query: Ask = {
  operation: 'Query',
  payload: [enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryObjects)],
}

test('an item that cannot be recorded in the audit log is not executed, and its response says so', async () => {
  await using kms = await startKms({ auditMode: 'reject' })
  const alice = kmipClient(kms.user('alice'))
  const { id } = await alice.do('Create', make.payload)
  const before = kms.audit.length
  assert.equal(before, 1)
  kms.breakAudit()
  for (const header of [
    {},
    { batchErrorContinuation: 'Undo' },
    { batchErrorContinuation: 'Continue' },
  ] as const) {
    const { items } = await alice.send([make, { operation: 'Activate', payload: [uid(id)] }], header)
    for (const { reason, status, payload } of items) {
      if (status === 'OperationUndone') continue
      assert.deepEqual([status, reason], ['OperationFailed', 'GeneralFailure'])
      assert.equal(payload, undefined)
    }
    assert.equal(items.at(-1)?.status, 'OperationFailed')
  }
  assert.equal((await alice.send([query])).items[0]?.status, 'OperationFailed')
  const bare = await kms.user('alice').post('/kmip/2_1', { tag: 'Query', value: [] })
  assert.deepEqual([bare.status, bare.json.error], [503, 'audit_unavailable'])
  const garbage = await kms.user('alice').call('POST', '/kmip', {
    bytes: Buffer.from('x'),
    headers: { 'content-type': 'text/xml' },
  })
  assert.equal(garbage.status, 503)
  const rows = await kms.environment.db.all(everything, [])
  assert.deepEqual(
    rows.map((row) => [row.id, row.state]),
    [[id, 'PreActive']],
  )
})

test('in audit mode reject each item has one record, which is on disk before its change', async () => {
  await using kms = await startKms({ auditMode: 'reject' })
  const alice = kmipClient(kms.user('alice'))
  await alice.send([make, { operation: 'Activate' }, { operation: 'Get' }], {
    batchErrorContinuation: 'Undo',
  })
  await alice.send([make, { operation: 'Activate' }, { operation: 'Get', payload: [uid('nothing')] }])
  assert.deepEqual(
    kms.audit.map(({ operation, outcome }) => `${operation} ${outcome}`),
    [
      'kmip.Create success',
      'kmip.Activate success',
      'kmip.Get success',
      'kmip.Create success',
      'kmip.Activate success',
      'kmip.Get failure',
    ],
  )
})

test('the records of an undone batch say so, and neither log nor audit contains secrets', async () => {
  await using kms = await startKms()
  const alice = kmipClient(kms.user('alice'))
  await alice.send([make, { operation: 'Get' }, { operation: 'Get', payload: [uid('nothing')] }], {
    batchErrorContinuation: 'Undo',
  })
  assert.deepEqual(
    kms.audit.map(({ outcome, reason }) => [outcome, reason]),
    [
      ['failure', 'OperationUndone'],
      ['failure', 'OperationUndone'],
      ['failure', 'ObjectNotFound'],
    ],
  )
  await alice.do('Create', make.payload)
  const said = JSON.stringify([kms.audit, kms.log])
  assert.doesNotMatch(said, /KeyMaterial|[0-9a-f]{64}/i)
})
