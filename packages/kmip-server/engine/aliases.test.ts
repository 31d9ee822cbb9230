import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findObject, type ManagedObject, type ObjectId, UnitOfWork } from '@warder/keys'
import { byteString, Enumeration, enumeration, structure, Tag, textString } from '@warder/kmip-codec'
import { type Started, startKms } from '@warder/kms/testing'
import { keyOf, mask } from '../testing/keys.ts'
import { kmipClient } from '../testing/kmip-client.ts'

test('an item may name an object by an alias; responses and audit records have its identifier', async () => {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  assert.equal((await alice.post('/v1/crypto/aliases', { alias: 'kmip', kid })).status, 200)
  const client = kmipClient(alice)
  const named = textString(Tag.UniqueIdentifier, 'alias/kmip')
  assert.equal((await client.do('GetAttributes', [named])).id, kid)
  const sealed = await client.do('Encrypt', [named, byteString(Tag.Data, Buffer.from('x'))])
  assert.equal(sealed.id, kid)
  const record = kms.audit.findLast(({ operation }) => operation === 'kmip.Encrypt')
  assert.deepEqual([record?.object, record?.details?.alias], [kid, 'alias/kmip'])
  const bob = kmipClient(kms.user('bob'))
  for (const foreign of ['alias/kmip', 'alias/kmip@alice'])
    await bob.fails('GetAttributes', [textString(Tag.UniqueIdentifier, foreign)], 'ObjectNotFound')
})

test('a new object cannot have the identifier of an alias', async () => {
  await using kms = await startKms()
  const client = kmipClient(kms.user('alice'))
  for (const id of ['alias/kmip', 'alias/']) {
    const attributes = [...keyOf('AES', 256), mask('Encrypt'), textString(Tag.UniqueIdentifier, id)]
    const asked = [
      enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
      structure(Tag.Attributes, attributes),
    ]
    await client.fails('Create', asked, 'InvalidAttributeValue')
  }
  // Whatever a front end lets through.
  const objects = new UnitOfWork(kms.services, kms.environment.clock.now())
  const object = { ...(await made(kms)), id: 'alias/kmip' as ObjectId }
  assert.throws(() => objects.create({ object, material: undefined, tags: [] }), { kind: 'bad_request' })
})

async function made(kms: Started): Promise<ManagedObject> {
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const found = await findObject(kms.environment.db, kid)
  assert.ok(found)
  return found
}
