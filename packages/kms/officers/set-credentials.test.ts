import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNameOfRealm } from '@warder/identity'
import { voidVotes } from '@warder/keys'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { endVotes } from '../service/follow-auth.ts'
import { voteWithProblem } from '../service/settings.ts'
import { startKms } from '../testing/start.ts'
import { webhookReceiver } from '../testing/webhook.ts'
import { approved, ask, done, keyOf, letCreate, officers, vote } from './testing/officers.ts'

const config = { 'roles.crypto_officer_users': officers, 'approvals.operations': ['destroy', 'export'] }

test('a credential that an administrator sets ends votes and requests of its user once', async () => {
  await using kms = await startKms({ config })
  const { db, clock } = kms.environment
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  const request = await done(ask(kms, 'alice', { operation: 'destroy', key: kid }))
  for (const officer of ['ann', 'ben']) await done(vote(kms, officer, request))
  const set = async (user: string, at = clock.now()) =>
    (await voidVotes(db, user, { at, isOfficer: false }, clock.now())).ended
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

test('with approvals.vote_with only votes with credentials that administrators cannot set count', async () => {
  await using kms = await startKms({ config: { ...config, 'approvals.vote_with': ['tls_auth'] } })
  await letCreate(kms, 'alice')
  const kid = await keyOf(kms, 'alice')
  const request = await done(ask(kms, 'alice', { operation: 'destroy', key: kid }))
  for (const way of ['approve', 'refuse'] as const) {
    const { status, text } = await vote(kms, 'ann', request, way)
    assert.equal(status, 403)
    assert.match(text, /approvals\.vote_with: crypto officers vote and hold ceremonies with tls_auth here/)
  }
})

test('a changed credential ends the activation, and sends a notice', async () => {
  const { told, outbound, config: receiving } = webhookReceiver()
  const ceremonies = { ...config, ...receiving, 'roles.crypto_officer_require_ceremony': true }
  await using kms = await startKms({ config: ceremonies, outbound })
  const { clock } = kms.environment
  const request = await done(ask(kms, 'ann', { operation: 'activate' }))
  for (const officer of ['ben', 'cid', 'dan']) await done(vote(kms, officer, request))
  const isActive = async () =>
    (await done(kms.user('ann').get('/access/crypto_officer/status'))).is_crypto_officer
  assert.equal(await isActive(), true)
  const set = (name: string, at: number) => endVotes(kms.environment, [{ realm: '_', name, at }])
  const seconds = Math.floor(clock.now() / 1000)
  await set('ann', seconds - 3600)
  assert.equal(await isActive(), true, 'activated later')
  await set('ann', seconds)
  assert.equal(await isActive(), false)
  const other = await done(ask(kms, 'ben', { operation: 'activate' }))
  assert.equal((await vote(kms, 'ann', other)).status, 403)
  // An officer of whom nothing ended is told of, too; other users are not.
  await set('eva', seconds)
  await set('zoe', seconds)
  const notices = told.filter(({ event }) => event === 'credential_set')
  assert.deepEqual(
    notices.map(({ user, ended }) => [user, ended]),
    [
      ['ann', { votes: 0, requests: 0, activations: 0 }],
      ['ann', { votes: 0, requests: 0, activations: 1 }],
      ['eva', { votes: 0, requests: 0, activations: 0 }],
    ],
  )
  const records = kms.audit.filter(({ operation }) => operation === 'access.credential_set')
  assert.deepEqual(
    records.map(({ object }) => object),
    ['ann', 'ann', 'eva'],
  )
  const counts_from = new Date(seconds * 1000 + 86_400_000).toISOString()
  assert.deepEqual([notices[1]?.counts_from, records[1]?.details?.counts_from], [counts_from, counts_from])
  // Read again at a start, the entry is told to no receiver.
  await set('eva', seconds)
  assert.equal(told.filter(({ event }) => event === 'credential_set').length, 3)
})

test("a replaced identity provider of a realm ends votes and requests of this realm's users only", async () => {
  const listed = officers.map((name) => `eng/${name}`)
  await using kms = await startKms({ config: { ...config, 'roles.crypto_officer_users': listed } })
  const user = (sub: string) => kms.with({ authorization: `Bearer ${kms.token({ sub, aud: ['eng'] })}` })
  const eng = { user }
  const at = Math.floor(kms.environment.clock.now() / 1000)
  await done(user('ann').post('/access/grant', { user_id: 'eng/alice', operation_types: ['create'] }))
  const key = await keyOf(eng, 'alice')
  const request = await done(ask(eng, 'alice', { operation: 'destroy', key }))
  for (const officer of ['ben', 'cid']) await done(vote(eng, officer, request))
  for (const realm of ['en', '_', 'eng/ben'])
    await endVotes(kms.environment, [{ realm, name: undefined, at }])
  const { approved_by } = await done(user('ann').get(`/access/approvals/${request.id}`))
  assert.deepEqual(approved_by, ['eng/ben', 'eng/cid'])
  await endVotes(kms.environment, [{ realm: 'eng', name: undefined, at }])
  assert.equal((await user('ann').get(`/access/approvals/${request.id}`)).status, 404)
  const records = kms.audit.filter(({ operation }) => operation === 'access.credential_set')
  assert.deepEqual(new Set(records.map(({ object }) => object)), new Set([...listed, 'eng/alice']))
})

test('users of a realm have the names of the realm at the service', () => {
  const cases: [name: string, realm: string, only: string | undefined, isOf: boolean][] = [
    ['ann', '_', undefined, true],
    ['_/eng/ann', '_', undefined, true],
    ['eng/ann', '_', undefined, false],
    ['eng/ann', 'eng', undefined, true],
    ['ann', 'eng', undefined, false],
    ['engine', 'eng', undefined, false],
    ['ann', 'eng', 'eng', true],
    ['eng/ann', 'eng', 'eng', true],
    ['ann', 'ops', 'eng', false],
  ]
  for (const [name, realm, only, isOf] of cases)
    assert.equal(isNameOfRealm(name, realm, only), isOf, `${name} ${realm} ${only}`)
})

test('votes with other credentials do not count if approvals.vote_with is set', async () => {
  await using kms = await startKms({ config: { ...config, 'approvals.operations': ['export'] } })
  const { db, seal } = kms.environment
  await letCreate(kms, 'alice')
  const key = await keyOf(kms, 'alice')
  const request = await approved(kms, 'alice', { operation: 'export', key })
  assert.equal(request.approved_by.length, 3)
  const stricter = {
    ...config,
    'approvals.operations': ['export'] as const,
    'approvals.vote_with': ['tls_auth'],
  }
  await using strict = await startKms({ config: stricter, db, seal })
  const shown = await done(strict.user('alice').get(`/access/approvals/${request.id}`))
  assert.deepEqual(shown.approved_by, [])
  await kmipClient(strict.user('alice')).fails('Get', [uid(key)], 'PermissionDenied')
  await using same = await startKms({
    config: { ...stricter, 'approvals.vote_with': ['auth_verifier'] },
    db,
    seal,
  })
  const again = await done(same.user('alice').get(`/access/approvals/${request.id}`))
  assert.equal(again.approved_by.length, 3)
  await kmipClient(same.user('alice')).do('Get', [uid(key)])
})

test('approvals.vote_with applies to ceremonies and to its own change', async () => {
  const ceremonies = {
    ...config,
    'approvals.operations': ['settings' as const],
    'roles.crypto_officer_require_ceremony': true,
  }
  await using kms = await startKms({ config: ceremonies })
  const { db, seal } = kms.environment
  const at = (more: object) => startKms({ config: { ...ceremonies, ...more }, db, seal })
  await assert.rejects(at({ 'approvals.vote_with': ['tls_auth'] }), /requires the approval of 3/)
  await done(kms.user('ann').post('/access/crypto_officer/ceremony', {}))

  await using strict = await startKms({ config: { ...ceremonies, 'approvals.vote_with': ['tls_auth'] } })
  const begun = await strict.user('ann').post('/access/crypto_officer/ceremony', {})
  assert.equal(begun.status, 403)
  assert.match(begun.text, /approvals\.vote_with: crypto officers vote and hold ceremonies with tls_auth/)
  const joined = await strict
    .user('ann')
    .post('/access/crypto_officer/ceremony/activate', { share_ids: ['x'] })
  assert.equal(joined.status, 403)
})

test('shares granted before approvals.vote_with was set do not activate an officer', async () => {
  const ceremonies = { ...config, 'roles.crypto_officer_require_ceremony': true, 'approvals.operations': [] }
  await using kms = await startKms({ config: ceremonies })
  const { db, seal } = kms.environment
  const { id, share_id: own } = await done(kms.user('ann').post('/access/crypto_officer/ceremony', {}))
  const give = (node: typeof kms, number: number) =>
    node.user(officers[number - 1] ?? '').post('/access/grant', {
      unique_identifier: `${id}#${number}`,
      user_id: 'ann',
      operation_types: ['get'],
    })
  for (const number of [2, 3]) await done(give(kms, number))
  const share_ids = [own, `${id}#2`, `${id}#3`]
  await using strict = await startKms({
    config: { ...ceremonies, 'approvals.vote_with': ['auth_verifier'] },
    db,
    seal,
  })
  const refused = await strict.user('ann').post('/access/crypto_officer/ceremony/activate', { share_ids })
  assert.equal(refused.status, 403)
  assert.match(refused.text, /vote_with was changed after the ceremony began/)
  await using other = await startKms({
    config: { ...ceremonies, 'approvals.vote_with': ['tls_auth'] },
    db,
    seal,
  })
  const given = await give(other, 4)
  assert.equal(given.status, 403)
  assert.match(given.text, /approvals\.vote_with/)
  await done(kms.user('ann').post('/access/crypto_officer/ceremony/activate', { share_ids }))
})

test('second factors are refused by name in approvals.vote_with', () => {
  assert.match(
    voteWithProblem(['tls_auth', 'second_factor']) ?? '',
    /second_factor.*administrators of a realm/,
  )
  assert.match(voteWithProblem(['auth_verifier']) ?? '', /tls_auth, jwt_auth/)
  assert.equal(voteWithProblem(['tls_auth', 'jwt_auth']), undefined)
})
