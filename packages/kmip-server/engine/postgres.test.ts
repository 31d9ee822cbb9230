import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  byteString,
  Enumeration,
  enumeration,
  longInteger,
  structure,
  Tag,
  textString,
} from '@warder/kmip-codec'
import { startKms } from '@warder/kms/testing'
import { openPostgres } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { activeSince } from '../testing/keys.ts'
import { type Ask, kmipClient } from '../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../testing/nodes.ts'
import { createAesKey, revocation, usageLimits } from '../testing/requests.ts'

/** Of `cache_lease_ms`. */
const defaultLeaseMs = 1000
const server = await startTestPostgres()
after(async () => {
  if ('stop' in server) await server.stop()
})

test('usage limits, Undo and asynchronous requests hold across two nodes on PostgreSQL', {
  skip: 'missing' in server ? server.missing : false,
}, async () => {
  assert.ok('database' in server)
  const url = await server.database()
  const rootKey = Buffer.alloc(32, 7)
  const dbs = [await openPostgres({ url }), await openPostgres({ url })] as const
  {
    await using one = await startKms({ db: dbs[0], rootKey, config: { cache_lease_ms: 0 } })
    await using other = await startKms({ db: dbs[1], rootKey, config: { cache_lease_ms: 0 } })
    const [here, there] = [kmipClient(one.user('alice')), kmipClient(other.user('alice'))]
    const limits = usageLimits(6n)
    const payload = [
      objectType('SymmetricKey'),
      aesAttributes(256, limits, textString(Tag.Comment, 'größer')),
    ]
    const make: Ask = { operation: 'Create', payload }
    const { id } = await here.do('Create', payload)
    await there.do('Get', [uid(id)])
    const raced = await Promise.all(
      [here, there, here, there].map((client) => client.ask('Activate', [uid(id)])),
    )
    assert.equal(raced.filter(({ status }) => status === 'Success').length, 1)
    const take = [uid(id), longInteger(Tag.UsageLimitsCount, 1n)]
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? here : there).ask('GetUsageAllocation', take),
      ),
    )
    assert.equal(taken.filter(({ status }) => status === 'Success').length, 6)
    const undone = await here.send(
      [make, { operation: 'Activate' }, { operation: 'Get', payload: [uid('no')] }],
      {
        batchErrorContinuation: 'Undo',
      },
    )
    assert.deepEqual(
      undone.items.map(({ status }) => status),
      ['OperationUndone', 'OperationUndone', 'OperationFailed'],
    )
    assert.equal((await one.user('alice').get('/access/owned')).json.length, 1)
    // An operation put off by one node is polled at the other.
    const { items } = await here.send([make], { asynchronous: 'Mandatory' })
    const value = byteString(
      Tag.AsynchronousCorrelationValue,
      items[0]?.asynchronousCorrelationValue ?? new Uint8Array(),
    )
    let answer = await there.send([{ operation: 'Poll', payload: [value] }])
    for (let round = 0; round < 500 && answer.items[0]?.status === 'OperationPending'; round++)
      answer = await there.send([{ operation: 'Poll', payload: [value] }])
    assert.deepEqual([answer.items[0]?.operation, answer.items[0]?.status], ['Create', 'Success'])
    await there.do('Revoke', [uid(id), revocation('Superseded')])
    await here.do('Destroy', [uid(id)])
    await there.fails('Get', [uid(id)], 'ObjectDestroyed')
  }
  await dbs[0].close()
  await dbs[1].close()
})

test('an item behind a Revoke of the same message is refused, with the default cache lease on PostgreSQL', {
  skip: 'missing' in server ? server.missing : false,
}, async () => {
  assert.ok('database' in server)
  const db = await openPostgres({ url: await server.database() })
  {
    await using kms = await startKms({ db, config: { cache_lease_ms: defaultLeaseMs } })
    const alice = kmipClient(kms.user('alice'))
    const mode = enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM)
    const parameters = structure(Tag.CryptographicParameters, [mode])
    const reason = enumeration(
      Tag.RevocationReasonCode,
      Enumeration.RevocationReasonCode.CessationOfOperation,
    )
    for (let round = 0; round < 20; round++) {
      const id = await createAesKey(alice, activeSince)
      const data = byteString(Tag.Data, Buffer.from('hello'))
      const encrypt: Ask = { operation: 'Encrypt', payload: [uid(id), parameters, data] }
      const revoke: Ask = {
        operation: 'Revoke',
        payload: [uid(id), structure(Tag.RevocationReason, [reason])],
      }
      const { items } = await alice.send([encrypt, revoke, encrypt], { batchErrorContinuation: 'Continue' })
      assert.deepEqual(
        items.map(({ status }) => status),
        ['Success', 'Success', 'OperationFailed'],
      )
    }
  }
  await db.close()
})
