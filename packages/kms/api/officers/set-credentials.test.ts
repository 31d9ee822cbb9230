import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endVotesOf } from '../../access/index.ts'
import { startKms } from '../../testing/index.ts'
import { approved, ask, done, keyOf, letCreate, officers, vote } from './testing/officers.ts'

const config = { 'roles.crypto_officer_users': officers, 'approvals.operations': ['destroy', 'export'] }

test('issue 28: a credential that an administrator sets ends votes and requests of that user, once', async () => {
  await using kms = await startKms({ config })
  const { db, clock } = kms.environment
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  const request = await done(ask(kms, 'alice', { operation: 'destroy', key: kid }))
  for (const officer of ['ann', 'ben']) await done(vote(kms, officer, request))
  const set = (user: string, at = clock.now()) => endVotesOf(db, user, at, clock.now())
  assert.deepEqual(await set('ann', clock.now() - 3_600_000), { votes: 0, requests: 0, activations: 0 })
  assert.deepEqual(await set('ann'), { votes: 1, requests: 0, activations: 0 })
  assert.deepEqual(await set('ann'), { votes: 0, requests: 0, activations: 0 })
  await done(vote(kms, 'cid', request))
  assert.equal((await kms.user('alice').get(`/v1/crypto/keys/${kid}`)).status, 200, 'two votes are left')
  const exported = await approved(kms, 'alice', { operation: 'export', key: kid })
  assert.equal(exported.state, 'approved')
  assert.equal((await set('alice')).requests, 2, 'nobody else uses what was approved for the requester')
  assert.equal((await kms.user('ann').get(`/access/approvals/${exported.id}`)).status, 404)
})

test('issue 28: with approvals.vote_with only credentials that administrators cannot set vote', async () => {
  await using kms = await startKms({ config: { ...config, 'approvals.vote_with': ['tls_auth'] } })
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  const request = await done(ask(kms, 'alice', { operation: 'destroy', key: kid }))
  for (const way of ['approve', 'refuse'] as const) {
    const { status, text } = await vote(kms, 'ann', request, way)
    assert.equal(status, 403)
    assert.match(text, /approvals\.vote_with: crypto officers vote with tls_auth here/)
  }
})
