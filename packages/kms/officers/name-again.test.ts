import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endName } from '@warder/keys'
import { formerOwnerName } from '@warder/keys/testing'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { type Started, startKms } from '../testing/start.ts'
import { approved, ask, done, letCreate, officers, vote } from './testing/officers.ts'

const config = { 'roles.crypto_officer_users': officers, 'approvals.operations': ['export'] }

/** Somebody whom the authentication service told from others of the same name. */
const bearer = (kms: Started, sub: string, as_sid: string) =>
  kms.with({ authorization: `Bearer ${kms.token({ sub, as_sid })}` })

function end({ environment: { db, clock } }: Started, name: string, subjectId: string) {
  return endName({ db, commit: db.commit, now: () => clock.now() }, name, subjectId)
}

const key = async (who: ReturnType<typeof bearer>): Promise<string> =>
  (await done(who.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }))).kid

test('a new user with the name of a deleted officer is dormant, and cannot vote before a ceremony', async () => {
  await using kms = await startKms({
    config: { ...config, 'roles.crypto_officer_require_ceremony': true, rate_limit_per_second: 1000 },
  })
  const ann = bearer(kms, 'ann', 'a1')
  const { id, share_id } = await done(ann.post('/access/crypto_officer/ceremony', {}))
  const share_ids = [share_id, `${id}#2`, `${id}#3`]
  for (const [giver, share] of [
    ['ben', `${id}#2`],
    ['cid', `${id}#3`],
  ] as const)
    await done(
      kms.user(giver).post('/access/grant', {
        unique_identifier: share,
        user_id: 'ann',
        operation_types: ['get'],
      }),
    )
  await done(ann.post('/access/crypto_officer/ceremony/activate', { share_ids }))
  await done(ann.post('/access/grant', { user_id: 'alice', operation_types: ['create'] }))
  const alice = bearer(kms, 'alice', 'c1')
  const kid = await key(alice)
  const request = await done(ask(kms, 'alice', { operation: 'export', key: kid }))
  await done(ann.post(`/access/approvals/${request.id}/approve`, { hash: request.hash }))
  await done(vote(kms, 'ben', request))

  assert.ok(await end(kms, 'ann', 'a1'))
  const again = bearer(kms, 'ann', 'a2')
  const status = await done(again.get('/access/crypto_officer/status'))
  assert.deepEqual([status.is_crypto_officer, status.active_co_users], [false, []])
  assert.equal((await again.post('/access/crypto_officer/ceremony/activate', { share_ids })).status, 403)
  const shown = await done(kms.user('ben').get(`/access/approvals/${request.id}`))
  assert.deepEqual([shown.state, shown.approved_by], ['open', ['ben']], 'the vote went with the person')
  const refused = await again.post(`/access/approvals/${request.id}/approve`, { hash: request.hash })
  assert.equal(refused.status, 403)
  assert.match(refused.json.description, /after a ceremony/)
  assert.equal((await done(vote(kms, 'cid', request))).state, 'open')
  assert.equal((await done(vote(kms, 'dan', request))).state, 'approved')
})

test('requests of a deleted user have no requester, and their approved operations are not executed', async () => {
  await using kms = await startKms({ config })
  await letCreate(kms, 'alice')
  const first = bearer(kms, 'alice', 'c1')
  const kid = await key(first)
  const request = await approved(kms, 'alice', { operation: 'export', key: kid })
  const open = await done(ask(kms, 'alice', { operation: 'export', key: kid }))
  assert.ok(await end(kms, 'alice', 'c1'))
  const again = bearer(kms, 'alice', 'c2')
  assert.deepEqual(await done(again.get('/access/approvals')), [])
  for (const { id } of [request, open])
    assert.equal((await again.post(`/access/approvals/${id}/withdraw`, {})).status, 404)
  assert.equal((await vote(kms, 'ann', open)).status, 404)
  await kmipClient(again).fails('Get', [uid(kid)], 'ObjectNotFound')
  const holdings = await done(
    kms.user('ann').get(`/access/holdings?user_id=${encodeURIComponent(formerOwnerName('alice', 'c1'))}`),
  )
  assert.equal(holdings.owned, 1)
})

test('votes of deleted officers do not count, even without ceremonies', async () => {
  await using kms = await startKms({ config })
  await letCreate(kms, 'alice')
  const kid = await key(bearer(kms, 'alice', 'c1'))
  const request = await done(ask(kms, 'alice', { operation: 'export', key: kid }))
  for (const officer of ['ann', 'ben']) await done(vote(kms, officer, request))
  assert.ok(await end(kms, 'ann', 'a1'))
  assert.equal((await done(vote(kms, 'cid', request))).state, 'open')
  assert.equal((await done(vote(kms, 'dan', request))).state, 'approved')
})
