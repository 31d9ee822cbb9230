import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { startKms } from '../testing/start.ts'
import { ask, done, type Node, officers, vote } from './testing/officers.ts'

const config = {
  'roles.crypto_officer_users': officers,
  'roles.crypto_officer_require_ceremony': true,
  rate_limit_per_second: 1000,
}
const isActive = async (kms: Node, user: string): Promise<boolean> =>
  (await done(kms.user(user).get('/access/crypto_officer/status'))).is_crypto_officer
const asked = (kms: Node, user: string) => done(ask(kms, user, { operation: 'activate' }))

for (const engine of await bothEngines()) {
  test(`${engine.name}: three of five officers activate a fourth once, across two nodes`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine, config)
    const [near, far] = [nodes.near, { user: nodes.onFar }]
    const request = await asked(near, 'ann')
    assert.deepEqual([request.key, request.needed], ['ann', 3])
    assert.equal((await vote(far, 'ann', request)).status, 403, 'not the own request')
    await done(vote(far, 'ben', request))
    await done(vote(near, 'cid', request))
    assert.equal(await isActive(near, 'ann'), false)
    assert.equal((await done(vote(far, 'dan', request))).state, 'done')
    assert.deepEqual([await isActive(near, 'ann'), await isActive(far, 'ann')], [true, true])
    assert.equal((await vote(near, 'eva', request)).status, 409)
    await done(far.user('eva').post('/access/crypto_officer/disable', { target_user: 'ann' }))
    assert.equal(await isActive(near, 'ann'), false)
  })
}

test('an activation by approval expires, and one that another officer ended requires a new request', async () => {
  let now = Date.now()
  await using kms = await startKms({ config, clock: { now: () => now, monotonic: () => now } })
  const activate = async () => {
    const request = await asked(kms, 'ann')
    for (const officer of ['ben', 'cid', 'dan']) await done(vote(kms, officer, request))
    return request
  }
  const first = await activate()
  assert.equal(await isActive(kms, 'ann'), true)
  const record = kms.audit.findLast(({ operation }) => operation === 'access.approvals.approve')
  assert.deepEqual(
    [record?.object, record?.details?.operation, record?.details?.state],
    ['ann', 'activate', 'done'],
  )
  now += 28_800_000
  assert.equal(await isActive(kms, 'ann'), false)
  await activate()
  await done(kms.user('ben').post('/access/crypto_officer/disable', { target_user: 'ann' }))
  const other = await asked(kms, 'ben')
  assert.equal((await vote(kms, 'ann', other)).status, 403, 'an officer who was ended decides nothing')
  assert.equal((await vote(kms, 'eva', first)).status, 409)
  await activate()
  assert.equal((await done(vote(kms, 'ann', other))).state, 'open')
})

test('only a dormant officer can request an activation, and only if officers are not always active', async () => {
  await using kms = await startKms({ config })
  assert.equal((await ask(kms, 'mallory', { operation: 'activate' })).status, 403)
  const request = await asked(kms, 'ann')
  for (const officer of ['ben', 'cid']) await done(vote(kms, officer, request))
  const { db, seal } = kms.environment
  const without = { ...config, 'roles.crypto_officer_users': ['ben', 'cid', 'dan', 'eva', 'fay'] }
  await using later = await startKms({ config: without, db, seal })
  assert.equal((await done(vote(later, 'dan', request))).state, 'void', 'ann has left the settings')
  await using plain = await startKms({ config: { 'roles.crypto_officer_users': officers } })
  assert.equal((await ask(plain, 'ann', { operation: 'activate' })).status, 422)
})
