import assert from 'node:assert/strict'
import { test } from 'node:test'
import { structure, Tag } from '@warder/kmip-codec'
import { kmipClient, uid, vendorAttribute } from '@warder/kmip-server/testing'
import { startKms } from '../testing/start.ts'
import { done, keyOf, letCreate, officers } from './testing/officers.ts'

const marker = 'CRYPTO_OFFICER_ACCESS'

test("the audit log marks only what an officer does with other users' keys, over REST and KMIP", async () => {
  await using kms = await startKms({ config: { 'roles.crypto_officer_users': officers } })
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  const own = await keyOf(kms, 'ann')
  const [ann, client] = [kms.user('ann'), kmipClient(kms.user('ann'))]
  const grant = (unique_identifier: string, user_id = 'bob') => ({
    unique_identifier,
    user_id,
    operation_types: ['encrypt'],
  })
  const color = {
    ...vendorAttribute('x', 'color', { tag: Tag.AttributeValue, type: 'TextString', value: 'red' }),
  }
  const acts: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    'crypto.keys.get': (id) => done(ann.get(`/v1/crypto/keys/${id}`)),
    'key.tags.add': (id) => done(ann.post(`/v1/crypto/keys/${id}/tags`, { tags: ['t'] })),
    'access.grant': (id) => done(ann.post('/access/grant', grant(id))),
    'access.revoke': (id) => done(ann.post('/access/revoke', grant(id))),
    'crypto.keys.disable': (id) => done(ann.post(`/v1/crypto/keys/${id}/disable`, {})),
    'kmip.GetAttributes': (id) => client.do('GetAttributes', [uid(id)]),
    'kmip.AddAttribute': (id) => client.do('AddAttribute', [uid(id), structure(Tag.NewAttribute, [color])]),
    'kmip.Locate': () => client.do('Locate', [structure(Tag.Attributes, [])]),
    'crypto.keys.destroy': (id) => ann.del(`/v1/crypto/keys/${id}`),
  }
  const marks = (operation: string) => {
    const record = kms.audit.findLast((one) => one.operation === operation)
    assert.equal(record?.outcome, 'success', operation)
    return record?.details?.marker
  }
  for (const [operation, act] of Object.entries(acts)) {
    if (operation !== 'kmip.Locate') {
      await act(own)
      assert.equal(marks(operation), undefined, `${operation} of an own key`)
    }
    await act(kid)
    assert.equal(marks(operation), marker, operation)
  }
  // A right that was granted is no bypass.
  const granted = await keyOf(kms, 'alice')
  const read = { unique_identifier: granted, user_id: 'ann', operation_types: ['getattributes'] }
  await done(kms.user('alice').post('/access/grant', read))
  await done(ann.get(`/v1/crypto/keys/${granted}`))
  assert.equal(marks('crypto.keys.get'), undefined)
  await done(ann.get('/v1/crypto/keys?owner=alice'))
  assert.equal(marks('crypto.keys.list'), marker)
  await done(kms.user('alice').get('/v1/crypto/keys'))
  assert.equal(marks('crypto.keys.list'), undefined)
})
