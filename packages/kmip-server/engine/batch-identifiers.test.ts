import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findObject, type ObjectId } from '@warder/keys'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  textString,
} from '@warder/kmip-codec'
import type { Ask } from '../testing/kmip-client.ts'
import { startKmipFixture } from '../testing/kmip-fixture.ts'
import { aesAttributes, objectType, uid } from '../testing/nodes.ts'

const { kms, alice, bob } = await startKmipFixture()

const make = (id: string): Ask => ({
  operation: 'Create',
  payload: [objectType('SymmetricKey'), aesAttributes(256, uid(id))],
})
const bring = (id: string, replace: boolean): Ask => ({
  operation: 'Import',
  payload: [
    uid(id),
    objectType('SymmetricKey'),
    boolean(Tag.ReplaceExisting, replace),
    aesAttributes(128),
    structure(Tag.SymmetricKey, [
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, new Uint8Array(16))]),
      ]),
    ]),
  ],
})
const pair = (privateId: string, publicId: string): Ask => ({
  operation: 'CreateKeyPair',
  payload: [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.Ed25519),
      integer(Tag.CryptographicUsageMask, Enumeration.CryptographicUsageMask.Sign),
    ]),
    structure(Tag.PrivateKeyAttributes, [textString(Tag.UniqueIdentifier, privateId)]),
    structure(Tag.PublicKeyAttributes, [textString(Tag.UniqueIdentifier, publicId)]),
  ],
})
const exists = async (id: string): Promise<boolean> =>
  (await findObject(kms.environment.db, id as ObjectId)) !== undefined
/** Outcome of each item: the reason, or the status. */
async function undo(...items: readonly Ask[]): Promise<readonly string[]> {
  const answer = await alice.send(items, { batchErrorContinuation: 'Undo' })
  return answer.items.map(({ reason, status }) => reason ?? status)
}

test('with Undo two new objects of one batch do not take the same identifier', async () => {
  assert.deepEqual(await undo(make('twice'), make('twice')), ['OperationUndone', 'ObjectAlreadyExists'])
  assert.equal(await exists('twice'), false)
  assert.deepEqual(await undo(pair('half-a', 'half-b'), make('half-a')), [
    'OperationUndone',
    'ObjectAlreadyExists',
  ])
  assert.deepEqual(await undo(make('half-b'), pair('half-a', 'half-b')), [
    'OperationUndone',
    'ObjectAlreadyExists',
  ])
  assert.equal((await exists('half-a')) || (await exists('half-b')), false)
})

test('with Undo a new object does not take the place of one that the batch changed or destroyed', async () => {
  await alice.send([make('changed')])
  const destroyed: Ask = { operation: 'Destroy', payload: [uid('changed')] }
  const activated: Ask = { operation: 'Activate', payload: [uid('changed')] }
  for (const before of [destroyed, activated])
    assert.deepEqual(await undo(before, make('changed')), ['OperationUndone', 'ObjectAlreadyExists'])
  assert.equal((await findObject(kms.environment.db, 'changed' as ObjectId))?.state, 'PreActive')
})

test('with Undo an Import with ReplaceExisting replaces an object that the same batch created', async () => {
  const destroyed: Ask = { operation: 'Destroy', payload: [uid('brought')] }
  assert.deepEqual(await undo(make('brought'), bring('brought', false)), [
    'OperationUndone',
    'ObjectAlreadyExists',
  ])
  assert.deepEqual(await undo(make('brought'), destroyed, bring('brought', true)), [
    'Success',
    'Success',
    'Success',
  ])
  assert.equal((await findObject(kms.environment.db, 'brought' as ObjectId))?.bits, 128)
})

test('with Undo the item whose identifier exists fails, not the last item, and no item behind it is executed', async () => {
  const [ping, locate]: readonly Ask[] = [{ operation: 'Ping' }, { operation: 'Locate' }]
  assert.ok(ping && locate)
  for (const [owner, id] of [
    [alice, 'taken'],
    [bob, 'taken-by-bob'],
  ] as const) {
    await owner.send([make(id)])
    assert.deepEqual(await undo(make(id), ping, locate), ['ObjectAlreadyExists'])
    assert.deepEqual(await undo(ping, pair('free', id), locate), ['OperationUndone', 'ObjectAlreadyExists'])
    assert.deepEqual(await undo(ping, bring(id, false), locate), ['OperationUndone', 'ObjectAlreadyExists'])
  }
  assert.equal(await exists('free'), false)
  assert.deepEqual(await undo(make('free'), ping, locate), ['Success', 'Success', 'Success'])
})
