import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKms } from '@warder/kms/testing'

const key = { kty: 'oct', alg: 'A256GCM' }
const pair = { kty: 'EC', crv: 'P-256' }

test('concurrent requests of one owner cannot exceed the limit of objects, and do not affect other owners (K26)', async () => {
  let now = 0
  const clock = { now: () => Date.now(), monotonic: () => now }
  const limit = 40
  await using kms = await startKms({ clock, config: { max_objects_per_owner: limit } })
  const alice = kms.user('alice')
  const owned = async (who = alice): Promise<number> => (await who.get('/access/owned')).json.length
  // Several waves of concurrent requests: each sees the result of the previous one.
  for (let wave = 0; wave < 7; wave++) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => alice.post('/v1/crypto/keys', index % 3 === 0 ? pair : key)),
    )
    for (const { status, json } of answers) {
      assert.ok(status === 200 || (status === 403 && json.error === 'forbidden'), String(status))
    }
    assert.ok((await owned()) <= limit + 1, String(await owned()))
    now += 5000
  }
  assert.ok((await owned()) >= limit, String(await owned()))
  const refused = await alice.post('/v1/crypto/keys', key)
  assert.deepEqual(
    [refused.status, refused.json.description],
    [403, 'You own the maximum number of objects.'],
  )
  assert.equal((await alice.get('/access/create')).json.has_create_permission, true)
  assert.equal((await kms.user('bob').post('/v1/crypto/keys', key)).status, 200)

  const [first, second] = (await alice.get('/access/owned')).json
  for (const { object_id: id } of [first, second]) await alice.del(`/v1/crypto/keys/${id}`)
  now += 5000
  assert.equal((await alice.post('/v1/crypto/keys', key)).status, 200)
})
