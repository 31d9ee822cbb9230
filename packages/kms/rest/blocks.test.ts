import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { kmipClient } from '@warder/kmip-server/testing'
import { type Started, startKms } from '../testing/start.ts'

const block = (kms: Started, user_id: string, by = 'admin') => kms.user(by).post('/access/block', { user_id })
const status = async (kms: Started, user: string) => (await kms.user(user).get('/me')).status

test('a blocked user is served nothing, by REST or KMIP, from the next request on, until unblocked', async () => {
  await using kms = await startKms({ clientCertificates: true })
  const [alice, certified] = [kms.user('alice'), kms.certified()]
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const encrypt = () => alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'eA' })
  assert.equal((await encrypt()).status, 200)
  assert.equal((await certified.get('/me')).status, 200)
  for (const user of ['alice', 'kmip-client']) assert.equal((await block(kms, user)).status, 200)
  const refused = await encrypt()
  assert.deepEqual([refused.status, refused.json.description], [403, 'This user is blocked.'])
  for (const caller of [alice, certified]) {
    assert.equal((await caller.get('/me')).status, 403)
    assert.equal((await caller.call('POST', '/kmip', { bytes: Buffer.alloc(8) })).status, 403)
  }
  await assert.rejects(kmipClient(alice).ask('Query'))
  assert.equal(await status(kms, 'bob'), 200, 'nobody else')
  assert.equal((await kms.user('admin').del('/access/block', { user_id: 'alice' })).status, 200)
  assert.equal((await encrypt()).status, 200)
  const records = kms.audit.filter(({ operation }) => operation.startsWith('access.'))
  assert.deepEqual(
    records.map(({ operation, object, principal, outcome }) => [operation, object, principal, outcome]),
    [
      ['access.block', 'alice', 'admin', 'success'],
      ['access.block', 'kmip-client', 'admin', 'success'],
      ['access.unblock', 'alice', 'admin', 'success'],
    ],
  )
})

test('suspended users are listed with time, officer and reason; a repeated suspension is no error', async () => {
  let now = 1_800_000_000_000
  await using kms = await startKms({ clock: { now: () => now, monotonic: () => now } })
  const admin = kms.user('admin')
  assert.deepEqual((await admin.get('/access/block')).json, [])
  assert.equal((await admin.post('/access/block', { user_id: 'mallory', reason: 'stolen' })).status, 200)
  now += 5000
  assert.equal((await block(kms, 'eng/eve')).status, 200)
  assert.equal((await block(kms, 'eng/eve')).status, 200)
  assert.deepEqual((await admin.get('/access/block')).json, [
    { user_id: 'eng/eve', blocked_at: 1_800_000_005, blocked_by: 'admin', reason: '' },
    { user_id: 'mallory', blocked_at: 1_800_000_000, blocked_by: 'admin', reason: 'stolen' },
  ])
  const after = await admin.get('/access/block?after=eng%2Feve')
  assert.deepEqual(
    after.json.map(({ user_id }: { user_id: string }) => user_id),
    ['mallory'],
  )
  const gone = await admin.del('/access/block', { user_id: 'nobody' })
  assert.deepEqual([gone.status, gone.json.success], [200, 'nobody was not blocked'])
})

test('only officers, or the default user without officers, can suspend users, and not themselves', async () => {
  await using plain = await startKms()
  assert.equal((await block(plain, 'bob', 'alice')).status, 403)
  assert.equal((await plain.user('alice').get('/access/block')).status, 403)
  assert.equal((await plain.user('alice').del('/access/block', { user_id: 'bob' })).status, 403)
  assert.equal((await block(plain, 'admin')).status, 400, 'oneself')
  for (const user of ['', '*', ' alice', 'al\u0000ice', 'al\u202eice', 'x'.repeat(257), 7])
    assert.equal(
      (await plain.user('admin').post('/access/block', { user_id: user })).status,
      400,
      String(user),
    )
  assert.equal(await status(plain, 'bob'), 200)
  await using kms = await startKms({ config: { 'roles.crypto_officer_users': ['olga', 'oleg'] } })
  assert.equal((await block(kms, 'bob', 'admin')).status, 403, 'the default user, where officers are named')
  assert.equal((await block(kms, 'bob', 'olga')).status, 200)
  assert.equal(await status(kms, 'bob'), 403)
  assert.equal((await block(kms, 'oleg', 'olga')).status, 200)
  assert.equal((await block(kms, 'olga', 'oleg')).status, 403, 'an officer who is blocked is none')
})

test('with force_default_username a user suspended by name stays suspended, and a suspension of the default user applies to all', async () => {
  await using kms = await startKms({
    config: { force_default_username: true, default_username: 'everybody' },
  })
  const [alice, bob] = [kms.user('alice'), kms.user('bob')]
  assert.equal((await alice.post('/access/block', { user_id: 'bob' })).status, 200)
  assert.deepEqual([(await alice.get('/me')).status, (await bob.get('/me')).status], [200, 403])
  await using open = await startKms({ tokens: false, db: kms.environment.db, seal: kms.services.seal })
  assert.equal((await open.with({}).post('/access/block', { user_id: 'x' })).status, 200)
})

test('another node refuses within the lease, and one on the same database file at once', async () => {
  const rootKey = randomBytes(32)
  await using near = await startKms({ rootKey })
  await using far = await startKms({ rootKey, db: near.environment.db, seal: near.services.seal })
  assert.equal(await status(far, 'alice'), 200)
  assert.equal((await block(near, 'alice')).status, 200)
  assert.equal(await status(far, 'alice'), 403)
  assert.equal((await near.user('admin').del('/access/block', { user_id: 'alice' })).status, 200)
  assert.equal(await status(far, 'alice'), 200)
})
