import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endName } from '@warder/keys'
import { formerOwnerName } from '@warder/keys/testing'
import { startAcme } from './testing/start.ts'

test('an account of ACME ends with the user it acts for: blocked, gone, and whoever gets the name has none of it', async () => {
  await using acme = await startAcme()
  const { kms, authorities } = acme
  const admin = kms.user('admin')
  const account = await acme.account()
  const spare = await acme.credential()
  const order = async (client = account) =>
    (await client.post(client.url('new-order'), { identifiers: [{ type: 'dns', value: 'localhost' }] }))
      .status
  assert.equal(await order(), 201)
  assert.equal((await admin.post('/access/block', { user_id: 'alice' })).status, 200)
  assert.equal(await order(), 403)
  assert.equal((await acme.client().register(spare)).status, 403)
  assert.equal((await admin.del('/access/block', { user_id: 'alice' })).status, 200)
  assert.equal(await order(), 201)

  const { db, clock } = kms.environment
  await endName({ db, commit: db.commit, now: () => clock.now() }, 'alice', 'c1')
  const left = formerOwnerName('alice', 'c1')
  // The next alice may use the authority; what the one before let in may not.
  const give = (to_user_id: string) => admin.post('/access/transfer', { from_user_id: left, to_user_id })
  assert.equal(await order(), 403)
  assert.equal((await acme.client().register(spare)).status, 403)
  assert.equal((await give('carol')).status, 200)
  const grant = { user_id: 'alice', operation_types: ['certify'] }
  const granted = await kms
    .user('carol')
    .post('/access/grant', { ...grant, unique_identifier: authorities.issuing.id })
  assert.equal(granted.status, 200, granted.text)
  assert.equal(await order(), 201, 'it acts for the heir')
  const list = await kms.user('carol').get(`/v1/pki/authorities/${authorities.issuing.id}/acme/accounts`)
  assert.deepEqual(
    list.json.accounts.map(({ owner }: { owner: string }) => owner),
    ['carol'],
    list.text,
  )
})
