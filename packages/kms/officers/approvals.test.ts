import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tag } from '@warder/kmip-codec'
import { aesAttributes, kmipClient, objectType, uid } from '@warder/kmip-server/testing'
import { change, query } from '@warder/storage'
import type { Answer } from '../testing/client.ts'
import { grant } from '../testing/client.ts'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { type Started, startKms } from '../testing/start.ts'

const officers = ['ann', 'ben', 'cid', 'dan', 'eva']
const config = {
  'roles.crypto_officer_users': officers,
  'approvals.operations': ['destroy', 'export', 'grant'],
}
type Node = Pick<Started, 'user'>

/** A key of alice, to whom an officer granted create. */
async function aliceKey(kms: Node, wish: object = { kty: 'oct', alg: 'A256GCM' }): Promise<string> {
  await kms.user('ann').post('/access/grant', { user_id: 'alice', operation_types: ['create'] })
  const made = await kms.user('alice').post('/v1/crypto/keys', wish)
  assert.equal(made.status, 200, made.text)
  return made.json.kid ?? made.json.private_kid
}

const ask = (kms: Node, user: string, body: object) => kms.user(user).post('/access/approvals', body)
const vote = (kms: Node, user: string, { id, hash }: { id: string; hash: string }, way = 'approve') =>
  kms.user(user).post(`/access/approvals/${id}/${way}`, { hash })
const read = async (kms: Node, id: string) => (await kms.user('ann').get(`/access/approvals/${id}`)).json
const exists = async (kms: Node, kid: string) =>
  (await kms.user('alice').get(`/v1/crypto/keys/${kid}`)).status === 200

async function asked(kms: Node, body: object, user = 'alice') {
  const answer = await ask(kms, user, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

test('a request and its refusals carry their reasons', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const long = await ask(kms, 'alice', { operation: 'destroy', key: kid, reason: 'x'.repeat(1025) })
  assert.equal(long.status, 400, long.text)
  const blank = await asked(kms, { operation: 'destroy', key: kid, reason: ' ' })
  assert.equal('reason' in blank, false)
  const request = await asked(kms, { operation: 'destroy', key: kid, reason: 'the shop has closed' })
  assert.equal(request.reason, 'the shop has closed')
  const { hash } = request
  const path = `/access/approvals/${request.id}`
  assert.equal((await kms.user('ann').post(`${path}/approve`, { hash, reason: 'no' })).status, 400)
  const refused = await kms.user('ann').post(`${path}/refuse`, { hash, reason: 'still in use' })
  assert.deepEqual(refused.json.refusal_reasons, [{ user: 'ann', reason: 'still in use' }], refused.text)
  const again = await kms.user('ben').post(`${path}/refuse`, { hash })
  assert.deepEqual(again.json.refused_by, ['ann', 'ben'])
  assert.equal(again.json.refusal_reasons.length, 1)
  const records = kms.audit.filter(({ operation }) => operation.startsWith('access.approvals.'))
  assert.deepEqual(
    records.filter(({ outcome }) => outcome === 'success').map(({ details }) => details?.reason),
    [undefined, 'the shop has closed', 'still in use', undefined],
  )
})

test('a request names its key, for officers and the owner', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const alias = { alias: 'alias/orders', kid }
  assert.equal((await kms.user('alice').post('/v1/crypto/aliases', alias)).status, 200)
  const request = await asked(kms, { operation: 'destroy', key: kid })
  const path = `/access/approvals/${request.id}`
  for (const user of ['ann', 'alice'])
    assert.deepEqual((await kms.user(user).get(path)).json.key_names, ['orders'], user)
  const [listed] = (await kms.user('ann').get('/access/approvals')).json
  assert.deepEqual([listed.id, listed.key_names], [request.id, ['orders']])
  for (const officer of officers.slice(0, 3)) await vote(kms, officer, request)
  const done = (await kms.user('ann').get(path)).json
  assert.deepEqual([done.state, done.key_names], ['done', undefined], 'the key is gone')
})

test("the third of five officers' approvals executes a destruction once, in the same commit", async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const refused = await kms.user('alice').del(`/v1/crypto/keys/${kid}`)
  assert.deepEqual([refused.status, refused.json.approval], [403, 'destroy'])
  assert.match(refused.json.description, /approval of 3 crypto officers.*POST \/access\/approvals/)
  const alice = kmipClient(kms.user('alice'))
  assert.match(await alice.fails('Destroy', [uid(kid)], 'PermissionDenied'), /approval of 3/)

  const request = await asked(kms, { operation: 'destroy', key: kid })
  assert.deepEqual([request.state, request.needed, request.requester], ['open', 3, 'alice'])
  assert.equal((await vote(kms, 'ann', request)).json.state, 'open')
  assert.equal((await vote(kms, 'ben', request)).json.state, 'open')
  assert.equal(await exists(kms, kid), true)
  const last = await vote(kms, 'cid', request)
  assert.deepEqual([last.status, last.json.state], [200, 'done'], last.text)
  assert.deepEqual(last.json.approved_by, ['ann', 'ben', 'cid'])
  assert.equal(await exists(kms, kid), false)
  assert.equal((await vote(kms, 'dan', request)).status, 409)
  const records = kms.audit.filter(({ operation }) => operation.startsWith('access.approvals.'))
  assert.deepEqual(
    records.map(({ operation, principal, outcome }) => [operation, principal, outcome]).slice(0, 4),
    [
      ['access.approvals.ask', 'alice', 'success'],
      ['access.approvals.approve', 'ann', 'success'],
      ['access.approvals.approve', 'ben', 'success'],
      ['access.approvals.approve', 'cid', 'success'],
    ],
  )
  assert.equal(records[0]?.details?.hash, request.hash)
})

test('only the requester can use an approved export, once, for this key, over KMIP', async () => {
  await using kms = await startKms({ config })
  const [kid, other] = [await aliceKey(kms), await aliceKey(kms)]
  const alice = kmipClient(kms.user('alice'))
  const give = () => alice.do('Get', [uid(kid)])
  await alice.fails('Get', [uid(kid)], 'PermissionDenied')
  await alice.fails('Export', [uid(kid)], 'PermissionDenied')
  const request = await asked(kms, { operation: 'export', key: kid })
  for (const officer of ['ann', 'ben']) await vote(kms, officer, request)
  await alice.fails('Get', [uid(kid)], 'PermissionDenied')
  assert.equal((await vote(kms, 'cid', request)).json.state, 'approved')
  await alice.fails('Get', [uid(other)], 'PermissionDenied')
  await kmipClient(kms.user('bob')).fails('Get', [uid(kid)], 'ObjectNotFound')
  assert.ok((await give()).nodes.some(({ tag }) => tag === Tag.SymmetricKey))
  assert.equal((await read(kms, request.id)).state, 'done')
  await alice.fails('Get', [uid(kid)], 'PermissionDenied')
})

test('two concurrent exports use an approval once', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const request = await asked(kms, { operation: 'export', key: kid })
  for (const officer of ['ann', 'ben', 'cid']) await vote(kms, officer, request)
  const alice = kmipClient(kms.user('alice'))
  const answers = await Promise.all(Array.from({ length: 6 }, () => alice.ask('Get', [uid(kid)])))
  assert.equal(answers.filter(({ status }) => status === 'Success').length, 1)
})

test('a grant of get or export requires approvals; other grants and revocations do not', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const grant = (operation_types: readonly string[], user_id = 'bob') => ({
    unique_identifier: kid,
    user_id,
    operation_types,
  })
  const alice = kms.user('alice')
  assert.equal((await alice.post('/access/grant', grant(['encrypt']))).status, 200)
  for (const rights of [['get'], ['encrypt', 'export'], ['Read']])
    assert.equal((await alice.post('/access/grant', grant(rights))).json.approval, 'grant')
  assert.equal((await alice.post('/access/grant', grant(['get'], '*'))).status, 403)
  assert.equal((await alice.post('/access/revoke', grant(['get']))).status, 200)
  const request = await asked(kms, { operation: 'grant', key: kid, user_id: 'bob', operation_types: ['get'] })
  assert.deepEqual([request.user_id, request.operation_types], ['bob', ['get']])
  for (const officer of ['ann', 'ben', 'cid']) await vote(kms, officer, request)
  const list = (await alice.get(`/access/list/${kid}`)).json
  assert.deepEqual(list, [{ user_id: 'bob', operations: ['encrypt', 'get'] }])
})

test('votes that do not count: anonymous, by the requester, repeated, for another hash, by other users', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const request = await asked(kms, { operation: 'destroy', key: kid })
  const status = (answer: Answer) => answer.status
  assert.equal(status(await vote(kms, 'mallory', request)), 403)
  assert.equal(status(await vote(kms, 'alice', request)), 403)
  assert.equal(status(await vote(kms, 'ann', { ...request, hash: 'A'.repeat(43) })), 409)
  assert.equal(status(await vote(kms, 'ann', { ...request, id: 'nothing' })), 404)
  assert.equal(status(await vote(kms, 'ann', request)), 200)
  assert.equal(status(await vote(kms, 'ann', request)), 409)
  assert.equal(status(await vote(kms, 'ann', request, 'refuse')), 409)
  const twice = await Promise.all([vote(kms, 'ben', request), vote(kms, 'ben', request)])
  assert.deepEqual(twice.map(status).sort(), [200, 409])
  assert.deepEqual((await read(kms, request.id)).approved_by, ['ann', 'ben'])
  assert.equal((await kms.user('mallory').get(`/access/approvals/${request.id}`)).status, 404)
  assert.deepEqual((await kms.user('mallory').get('/access/approvals')).json, [])
  // An officer's own request takes the others.
  const { json: own } = await kms.user('ann').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const mine = await asked(kms, { operation: 'destroy', key: own.kid }, 'ann')
  assert.equal(status(await vote(kms, 'ann', mine)), 403)
  assert.equal(await exists(kms, kid), true)
})

test('a request ends when too few officers are left to approve it; the requester may withdraw it', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const request = await asked(kms, { operation: 'destroy', key: kid })
  const states = []
  for (const officer of ['ann', 'ben', 'cid'])
    states.push((await vote(kms, officer, request, 'refuse')).json.state)
  assert.deepEqual(states, ['open', 'open', 'refused'])
  assert.equal((await vote(kms, 'dan', request)).status, 409)
  const again = await asked(kms, { operation: 'destroy', key: kid })
  assert.equal((await kms.user('ann').post(`/access/approvals/${again.id}/withdraw`, {})).status, 403)
  assert.equal(
    (await kms.user('alice').post(`/access/approvals/${again.id}/withdraw`, {})).json.state,
    'withdrawn',
  )
  for (const officer of ['ann', 'ben', 'cid']) assert.equal((await vote(kms, officer, again)).status, 409)
  assert.equal(await exists(kms, kid), true)
})

test('a request is void if its key changed or its requester lost the right meanwhile', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const changed = await asked(kms, { operation: 'destroy', key: kid })
  const race = await asked(kms, { operation: 'export', key: kid })
  await grant(kms.user('alice'), kid, 'bob', 'revoke', 'destroy')
  const states = []
  for (const officer of ['ann', 'ben', 'cid']) {
    states.push((await vote(kms, officer, changed)).json.state)
    states.push((await vote(kms, officer, race)).json.state)
  }
  assert.deepEqual(states, ['open', 'open', 'open', 'open', 'void', 'void'])
  assert.equal(await exists(kms, kid), true)
  // Two requests for one key: the first takes it away, the second finds nothing.
  const one = await asked(kms, { operation: 'destroy', key: kid })
  const two = await asked(kms, { operation: 'destroy', key: kid }, 'bob')
  for (const officer of ['ann', 'ben']) {
    await vote(kms, officer, one)
    await vote(kms, officer, two)
  }
  const ends = await Promise.all([vote(kms, 'cid', one), vote(kms, 'dan', two)])
  assert.deepEqual(ends.map(({ json }) => json.state).sort(), ['done', 'void'])
})

test('a request expires, even if it was approved', async () => {
  let now = Date.now()
  await using kms = await startKms({ config, clock: { now: () => now, monotonic: () => now } })
  const kid = await aliceKey(kms)
  const [late, used] = [
    await asked(kms, { operation: 'destroy', key: kid }),
    await asked(kms, { operation: 'export', key: kid }),
  ]
  for (const officer of ['ann', 'ben', 'cid']) await vote(kms, officer, used)
  now += 86_400_000
  assert.equal((await vote(kms, 'ann', late)).status, 409)
  assert.equal((await read(kms, late.id)).state, 'expired')
  await kmipClient(kms.user('alice')).fails('Get', [uid(kid)], 'PermissionDenied')
})

test('a request requires the right to the operation, and is refused for operations without approval', async () => {
  await using kms = await startKms({ config: { ...config, 'approvals.operations': ['export'] } })
  const kid = await aliceKey(kms)
  assert.equal((await ask(kms, 'bob', { operation: 'export', key: kid })).status, 404)
  assert.equal((await ask(kms, 'alice', { operation: 'destroy', key: kid })).status, 422)
  assert.equal((await ask(kms, 'alice', { operation: 'grant', key: kid })).status, 400)
  assert.equal((await ask(kms, 'alice', { operation: 'rotate', key: kid })).status, 400)
  assert.equal((await kms.user('alice').del(`/v1/crypto/keys/${kid}`)).status, 204)
})

test('policies by tag, algorithm and owner leave other keys free, and protect the tag', async () => {
  await using kms = await startKms({
    config: {
      ...config,
      'approvals.tags': ['prod'],
      'approvals.algorithms': ['AES'],
      'approvals.owners': ['alice'],
    },
  })
  const alice = kms.user('alice')
  const [plain, mac, kid] = [
    await aliceKey(kms),
    await aliceKey(kms, { kty: 'oct', alg: 'HS256' }),
    await aliceKey(kms),
  ]
  const tags = (key: string) => `/v1/crypto/keys/${key}/tags`
  for (const key of [mac, kid])
    assert.equal((await alice.post(tags(key), { tags: ['prod', 'x'] })).status, 200)
  for (const key of [plain, mac]) assert.equal((await alice.del(`/v1/crypto/keys/${key}`)).status, 204)
  assert.equal((await alice.del(`/v1/crypto/keys/${kid}`)).status, 403)
  assert.equal((await alice.del(tags(kid), { tags: ['prod'] })).status, 403)
  assert.equal((await alice.del(tags(kid), { tags: ['x'] })).status, 200)
  const client = kmipClient(alice)
  const { id } = await client.do('Create', [objectType('SymmetricKey'), aesAttributes()])
  assert.equal((await alice.del(`/v1/crypto/keys/${id}`)).status, 204)
})

test('approvals of officers who were removed from the settings do not count, and votes cannot be forged in the database', async () => {
  await using kms = await startKms({ config })
  const kid = await aliceKey(kms)
  const request = await asked(kms, { operation: 'export', key: kid })
  for (const officer of ['ann', 'ben', 'cid']) await vote(kms, officer, request)
  const { db, seal } = kms.environment
  const fewer = { ...config, 'roles.crypto_officer_users': ['ben', 'cid', 'dan'], 'roles.ceremony_quorum': 3 }
  await using later = await startKms({ config: fewer, db, seal })
  await kmipClient(later.user('alice')).fails('Get', [uid(kid)], 'PermissionDenied')
  const insert = query<[string, string, Uint8Array, number], unknown>(
    'INSERT INTO approval_vote (request_id, user_id, record, at_ms) VALUES (?, ?, ?, ?)',
  )
  const forged = Buffer.from(JSON.stringify({ user: 'dan', approves: true, hash: request.hash, at: 1 }))
  await db.commit([change(insert, [request.id, 'dan', forged, 1])])
  const answer = await kmipClient(later.user('alice')).ask('Get', [uid(kid)])
  assert.equal(answer.status, 'OperationFailed')
})

test('the service refuses to start with approvals and too few officers', async () => {
  const few = { ...config, 'roles.crypto_officer_users': ['ann', 'ben'] }
  await assert.rejects(startKms({ config: few }), /approvals\.operations requires at least 3 users/)
})

for (const engine of await bothEngines()) {
  test(`${engine.name}: officers on two nodes approve at once; the operation happens once`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine, config)
    const [near, far] = [nodes.near, { user: nodes.onFar }]
    const kid = await aliceKey(near)
    const request = await asked(far, { operation: 'destroy', key: kid })
    const answers = await Promise.all([
      vote(near, 'ann', request),
      vote(far, 'ben', request),
      vote(near, 'cid', request),
      vote(far, 'dan', request),
    ])
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, 200, 200, 409])
    assert.equal((await read(near, request.id)).state, 'done')
    assert.equal(await exists(far, kid), false)
  })
}
