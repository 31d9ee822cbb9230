import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { query } from '@warder/storage'
import type { Ask, KmipClient } from '../../testing/kmip-client.ts'
import {
  algorithms,
  data,
  key16,
  mode,
  oasisData,
  parameters,
  readBytes,
  startKmipFixture,
  use,
} from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const { kms, alice, bob, activeForAnHour, registerKey } = await startKmipFixture()

const gcm = parameters(mode('GCM'), integer(Tag.TagLength, 16))
const encrypt = (id: string, ...more: readonly TtlvNode[]): Ask => ({
  operation: 'Encrypt',
  payload: [uid(id), gcm, data(oasisData), ...more],
})
const make = (id: string): Ask => ({
  operation: 'Create',
  payload: [
    objectType('SymmetricKey'),
    attributes(
      uid(id),
      enumeration(Tag.CryptographicAlgorithm, algorithms.AES),
      integer(Tag.CryptographicUsageMask, use.Encrypt | use.Decrypt | use.WrapKey),
      activeForAnHour(),
    ),
  ],
})
const wrapped = (key: string, by: string): Ask => ({
  operation: 'Get',
  payload: [
    uid(key),
    structure(Tag.KeyWrappingSpecification, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
      structure(Tag.EncryptionKeyInformation, [uid(by), gcm]),
      enumeration(Tag.EncodingOption, Enumeration.EncodingOption.NoEncoding),
    ]),
  ],
})
async function undo(client: KmipClient, ...items: readonly Ask[]): Promise<readonly string[]> {
  const answer = await client.send(items, { batchErrorContinuation: 'Undo' })
  return answer.items.map(({ reason, status }) => reason ?? status)
}

const reserved = query<[id: string], { readonly reserved: number }>(
  'SELECT reserved FROM gcm_budget WHERE object_id = ?',
)
const countReserved = async (id: string) => (await kms.environment.db.get(reserved, [id]))?.reserved

test('a key encrypts with AES-GCM in the batch that creates it, and these messages count against its limit', async () => {
  const other = await registerKey(key16, 'AES')
  const outcome = await undo(
    alice,
    make('fresh'),
    encrypt('fresh'),
    encrypt('fresh', boolean(Tag.InitIndicator, true)),
    wrapped(other, 'fresh'),
  )
  assert.deepEqual(outcome, ['Success', 'Success', 'Success', 'Success'])
  assert.equal(await countReserved('fresh'), 3)
  const sealed = await alice.do('Encrypt', [uid('fresh'), gcm, data(oasisData)])
  assert.equal(readBytes(sealed, Tag.Data).length, oasisData.length)
  assert.equal(await countReserved('fresh'), 3 + 1024)
})

test('an undone batch does not affect a later key with the same identifier, of any user', async () => {
  const unknown: Ask = { operation: 'Get', payload: [uid('nothing')] }
  assert.deepEqual(await undo(alice, make('again'), encrypt('again'), unknown), [
    'OperationUndone',
    'OperationUndone',
    'ObjectNotFound',
  ])
  assert.equal(await countReserved('again'), undefined)
  await bob.do('Create', make('again').payload)
  await bob.do('Encrypt', encrypt('again').payload)
})

test("a request with the identifier of another user's key does not reduce that key's message limit", async () => {
  await bob.do('Create', make('of-bob').payload)
  assert.deepEqual(await undo(alice, make('of-bob'), encrypt('of-bob')), ['ObjectAlreadyExists'])
  assert.equal(await countReserved('of-bob'), 0)
})

test('messages count for an object from the Import that makes it an AES key', async () => {
  const bring = (algorithm: 'AES' | 'HMAC_SHA256', replace: boolean): Ask => ({
    operation: 'Import',
    payload: [
      uid('brought'),
      objectType('SymmetricKey'),
      boolean(Tag.ReplaceExisting, replace),
      attributes(
        enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
        integer(Tag.CryptographicUsageMask, use.Encrypt | use.MACGenerate),
        enumeration(Tag.State, Enumeration.State.Active),
        activeForAnHour(),
      ),
      structure(Tag.SymmetricKey, [
        structure(Tag.KeyBlock, [
          enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
          structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, key16)]),
        ]),
      ]),
    ],
  })
  await alice.do('Import', bring('HMAC_SHA256', false).payload)
  assert.equal(await countReserved('brought'), undefined)
  assert.deepEqual(await undo(alice, bring('AES', true), encrypt('brought')), ['Success', 'Success'])
  assert.equal(await countReserved('brought'), 1)
  // From now on the budget is in the database, also for a batch that changes the key.
  assert.deepEqual(await undo(alice, bring('AES', true), encrypt('brought')), ['Success', 'Success'])
  assert.equal(await countReserved('brought'), 1 + 1024)
})
