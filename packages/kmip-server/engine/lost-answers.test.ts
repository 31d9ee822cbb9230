import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Enumeration, enumeration, structure, Tag } from '@warder/kmip-codec'
import { type Started, startKms } from '@warder/kms/testing'
import { type Database, OutcomeUnknown, StorageUnavailable } from '@warder/storage'
import { type Ask, kmipClient } from '../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../testing/nodes.ts'

const make: Ask = { operation: 'Create', payload: [objectType('SymmetricKey'), aesAttributes()] }

/** Every commit happens, and its answer is lost. */
function loseAnswers({ environment: { db } }: Started): void {
  const commit = db.commit.bind(db)
  const lost: Database['commit'] = async (changes) => {
    await commit(changes)
    throw new OutcomeUnknown('the test lost it')
  }
  mock.method(db, 'commit', lost)
}

const told = ({ audit }: Started, operation: string) =>
  audit
    .filter((event) => event.operation === operation)
    .map(({ status, outcome, details }) => [status, outcome, details?.follows])

test('a commit with an unknown outcome is recorded as neither done nor undone', async () => {
  await using kms = await startKms({ auditMode: 'reject' })
  const alice = kmipClient(kms.user('alice'))
  loseAnswers(kms)
  assert.equal((await alice.ask('Create', make.payload)).status, 'OperationFailed')
  assert.deepEqual(told(kms, 'kmip.Create'), [
    [200, 'success', undefined],
    [503, 'failure', 'unknown'],
  ])
})

test('a batch with Undo and an unknown outcome does not report that it was undone', async () => {
  await using kms = await startKms({ auditMode: 'reject' })
  const alice = kmipClient(kms.user('alice'))
  const { id } = await alice.do('Create', make.payload)
  loseAnswers(kms)
  const { items } = await alice.send([{ operation: 'Activate', payload: [uid(id)] }, make], {
    batchErrorContinuation: 'Undo',
  })
  assert.deepEqual(
    items.map(({ status, payload }) => [status, payload]),
    [
      ['OperationFailed', undefined],
      ['OperationFailed', undefined],
    ],
  )
  assert.deepEqual(told(kms, 'kmip.Activate'), [
    [200, 'success', undefined],
    [503, 'failure', 'unknown'],
  ])
  mock.restoreAll()
  const state = await alice.do('GetAttributes', [uid(id), enumeration(Tag.AttributeReference, Tag.State)])
  assert.deepEqual(
    state.nodes[1],
    structure(Tag.Attributes, [enumeration(Tag.State, Enumeration.State.Active)]),
  )
})

test('if a success was recorded and the commit failed, another record says that it was not committed', async () => {
  await using kms = await startKms({ auditMode: 'reject' })
  const alice = kmipClient(kms.user('alice'))
  mock.method(kms.environment.db, 'commit', () => Promise.reject(new StorageUnavailable('the test took it')))
  assert.equal((await alice.ask('Create', make.payload)).status, 'OperationFailed')
  assert.deepEqual(told(kms, 'kmip.Create'), [
    [200, 'success', undefined],
    [503, 'failure', 'uncommitted'],
  ])
})
