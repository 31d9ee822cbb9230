import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Started, startKms } from '@warder/kms/testing'
import { endName, formerOwnerName } from './names.ts'

/** A principal with this name and subject id. */
function person(kms: Started, name: string, subjectId?: string) {
  const claims = { sub: name, ...(subjectId !== undefined && { as_sid: subjectId }) }
  return kms.with({ authorization: `Bearer ${kms.token(claims)}` })
}

const partsOf = ({ environment: { db, clock } }: Started) => ({
  db,
  commit: db.commit,
  now: () => clock.now(),
})
const makeKey = async (who: ReturnType<typeof person>): Promise<string> =>
  (await who.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
const grant = (who: ReturnType<typeof person>, kid: string, user_id: string) =>
  who.post('/access/grant', { unique_identifier: kid, user_id, operation_types: ['encrypt'] })
const encrypts = async (who: ReturnType<typeof person>, kid: string) =>
  (await who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'eA' })).status

test('a new user with the name of a deleted one has neither their keys nor their grants', async () => {
  for (const told of [true, false]) {
    await using kms = await startKms()
    const [first, second] = [randomUUID(), randomUUID()]
    const [alice, bob] = [person(kms, 'alice', first), person(kms, 'bob')]
    const own = await makeKey(alice)
    const others = await makeKey(bob)
    assert.equal((await grant(bob, others, 'alice')).status, 200)
    assert.equal((await grant(alice, own, 'bob')).status, 200)
    assert.deepEqual([await encrypts(alice, own), await encrypts(alice, others)], [200, 200])
    if (told) {
      const moved = await endName(partsOf(kms), 'alice', first)
      assert.deepEqual(moved, { objects: 1, grants: 1 })
      assert.equal(await endName(partsOf(kms), 'alice', first), undefined, 'once')
    }
    const again = person(kms, 'alice', second)
    assert.deepEqual([await encrypts(again, own), await encrypts(again, others)], [404, 404], `told: ${told}`)
    assert.deepEqual((await again.get('/access/owned')).json, [])
    assert.equal(await encrypts(bob, own), 200, 'what was granted to others stays')
    const late = kms.with({ authorization: `Bearer ${kms.token({ sub: 'alice', as_sid: first, jti: 'x' })}` })
    assert.equal((await late.get('/me')).status, 401, 'a token of the one who is gone')
    // A revocation that arrives late, or again, does not affect the current user of the name.
    const new_ = await makeKey(again)
    assert.equal(await endName(partsOf(kms), 'alice', first), undefined)
    assert.equal(await encrypts(again, new_), 200)
    const admin = kms.user('admin')
    const left = formerOwnerName('alice', first)
    const query = `/access/holdings?user_id=${encodeURIComponent(left)}`
    assert.deepEqual((await admin.get(query)).json, { user_id: left, owned: 1, granted: 0 })
    const body = { from_user_id: left, to_user_id: 'carol' }
    assert.deepEqual((await admin.post('/access/transfer', body)).json, { objects: 1, grants: 0 })
    assert.equal(await encrypts(person(kms, 'carol'), own), 200)
  }
})

test('keys and grants of a name without a subject id belong to the first user with a subject id', async () => {
  await using kms = await startKms()
  const kid = await makeKey(person(kms, 'alice'))
  assert.equal(await encrypts(person(kms, 'alice', randomUUID()), kid), 200)
  assert.equal(await encrypts(person(kms, 'alice'), kid), 200)
})

test('the deletion of a user who never called ends the grants to the name', async () => {
  await using kms = await startKms()
  const bob = person(kms, 'bob')
  const kid = await makeKey(bob)
  await grant(bob, kid, 'alice')
  assert.deepEqual(await endName(partsOf(kms), 'alice', '1000-1'), { objects: 0, grants: 1 })
  assert.equal(await encrypts(person(kms, 'alice', randomUUID()), kid), 404)
  await grant(bob, kid, 'alice')
  assert.equal(await endName(partsOf(kms), 'alice', '1000-1'), undefined)
  assert.equal(await encrypts(person(kms, 'alice'), kid), 200, 'granted to the new one')
})

test('no credential yields the name of a deleted owner', async () => {
  await using kms = await startKms()
  assert.equal((await person(kms, formerOwnerName('alice', randomUUID())).get('/me')).status, 401)
})

test('a transfer moves keys and grants, is recorded, and requires an officer or the default user', async () => {
  await using kms = await startKms()
  const [alice, bob, admin] = [person(kms, 'alice'), person(kms, 'bob'), kms.user('admin')]
  const kids = [await makeKey(alice), await makeKey(alice)]
  const others = await makeKey(bob)
  await grant(bob, others, 'alice')
  await grant(alice, kids[0] ?? '', 'carol')
  const body = { from_user_id: 'alice', to_user_id: 'carol' }
  assert.equal((await alice.post('/access/transfer', body)).status, 403)
  assert.equal((await bob.get('/access/holdings?user_id=alice')).status, 403)
  for (const to_user_id of ['alice', '*', '', 'ended:x:y', 'a\u0000b'])
    assert.equal((await admin.post('/access/transfer', { ...body, to_user_id })).status, 400, to_user_id)
  assert.deepEqual((await admin.post('/access/transfer', body)).json, { objects: 2, grants: 1 })
  const carol = person(kms, 'carol')
  for (const kid of [...kids, others]) {
    assert.equal(await encrypts(carol, kid), 200)
    assert.equal(await encrypts(alice, kid), 404)
  }
  const record = kms.audit.findLast(({ operation }) => operation === 'access.transfer')
  assert.deepEqual(
    [record?.object, record?.details, record?.outcome],
    ['alice', { to: 'carol', owned: 2, granted: 1 }, 'success'],
  )
  const realm = await admin.get('/access/holdings?user_id=dan&realm=eng')
  assert.deepEqual(realm.json, { user_id: 'eng/dan', owned: 0, granted: 0 })
})

test("officers cannot transfer other users' keys to officers, nor keys that require approval", async () => {
  const config = { 'roles.crypto_officer_users': ['olga', 'oleg', 'otto'] }
  await using kms = await startKms({
    config: { ...config, 'approvals.operations': ['export'], 'approvals.owners': ['dan'] },
  })
  const olga = kms.user('olga')
  const create = { user_id: 'alice', operation_types: ['create'] }
  for (const user_id of ['alice', 'dan'])
    assert.equal((await olga.post('/access/grant', { ...create, user_id })).status, 200)
  const kid = await makeKey(person(kms, 'alice'))
  const guarded = person(kms, 'dan', 'd1')
  await makeKey(guarded)
  const give = async (from_user_id: string, to_user_id: string) =>
    (await olga.post('/access/transfer', { from_user_id, to_user_id })).status
  assert.equal(await give('alice', 'olga'), 403)
  assert.equal(await give('alice', 'oleg'), 403)
  assert.equal((await kms.user('admin').get('/access/holdings?user_id=alice')).status, 403)
  assert.equal(await give('alice', 'carol'), 200)
  assert.equal(await encrypts(person(kms, 'carol'), kid), 200)
  assert.equal(await give('dan', 'carol'), 409)
  await endName(partsOf(kms), 'dan', 'd1')
  assert.equal(await give(formerOwnerName('dan', 'd1'), 'carol'), 409, 'also when the owner is gone')
})
