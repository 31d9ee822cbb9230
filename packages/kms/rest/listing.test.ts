import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rights } from '@warder/keys/testing'
import { query } from '@warder/storage'
import type { Caller } from '../testing/client.ts'
import { startKms, startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()
const alice = kms.user('alice')

const make = async (
  who: Caller,
  body: object = { kty: 'oct', alg: 'A256GCM' },
): Promise<Record<string, string>> => {
  const made = await who.post('/v1/crypto/keys', body)
  assert.equal(made.status, 200, made.text)
  return made.json
}
const grant = async (by: Caller, kid: string | undefined, user: string, operations: readonly string[]) => {
  const body = { unique_identifier: kid, user_id: user, operation_types: operations }
  assert.equal((await by.post('/access/grant', body)).status, 200)
}
const insertGrant = query<[string, string, string], unknown>(
  'INSERT INTO object_grant (object_id, user_id, operation) VALUES (?, ?, ?)',
)

test('obtained: pages of any size have every object once, with the rights of the user and of all users', async () => {
  const bob = kms.user('bob')
  const expected: { object_id: string; owner_id: string; operations: string[] }[] = []
  for (let count = 0; count < 12; count++) {
    const { kid = '' } = await make(alice)
    const mine = count % 3 === 0 ? [...rights] : count % 3 === 1 ? ['encrypt', 'decrypt'] : []
    const all = count % 2 === 0 ? ['encrypt', 'sign'] : []
    if (mine.length > 0) await grant(alice, kid, 'bob', mine)
    if (all.length > 0) await grant(alice, kid, '*', all)
    await grant(alice, kid, 'somebody else', ['mac'])
    const operations = [...new Set([...mine, ...all])].sort()
    if (operations.length > 0) expected.push({ object_id: kid, owner_id: 'alice', operations })
    // Bob's own keys with a grant to all users are not in his list.
    const own = await make(bob)
    await grant(bob, own.kid, '*', ['encrypt'])
  }
  for (const limit of [1, 2, 5, 1000]) {
    const seen: unknown[] = []
    let after = ''
    for (;;) {
      const answer = await bob.get(`/access/obtained?limit=${limit}&after=${after}`)
      assert.equal(answer.status, 200, answer.text)
      seen.push(...answer.json.map(({ state: _, ...rest }: { state: string }) => rest))
      assert.ok(answer.json.length <= limit)
      const next = answer.headers['x-next-after']
      if (next === undefined) break
      after = String(next)
    }
    assert.deepEqual(seen, expected, `limit ${limit}`)
  }
})

test('obtained: grants of deleted objects are not listed and do not end a page', async () => {
  await using fresh = await startKms()
  const { db } = fresh.environment
  const anna = fresh.user('anna')
  const { kid = '' } = await make(anna)
  await db.commit(
    ['0000', 'ffff-1', 'ffff-2'].map((id) => ({
      query: insertGrant as never,
      params: [id, 'carl', 'encrypt'],
    })),
  )
  await grant(anna, kid, 'carl', ['encrypt'])
  const first = await fresh.user('carl').get('/access/obtained?limit=1')
  assert.deepEqual(
    first.json.map((one: { object_id: string }) => one.object_id),
    [kid],
  )
  const second = await fresh
    .user('carl')
    .get(`/access/obtained?limit=1&after=${first.headers['x-next-after']}`)
  assert.deepEqual([second.json, second.headers['x-next-after']], [[], undefined])
})

test('an object cannot have the id *, which is reserved for grants of create', async () => {
  const { asObjectId } = await import('@warder/keys')
  assert.equal(asObjectId('*'), undefined)
  assert.equal((await alice.get('/access/list/*')).status, 404)
  assert.equal((await alice.del('/v1/crypto/keys/*')).status, 404)
})

const setLink = query<[string, string], unknown>(
  'UPDATE managed_object SET linked_id = ?, version = version + 1 WHERE id = ?',
)

test('a link without a link back does not extend the destruction of a key to another object', async () => {
  const { db } = kms.environment
  const victim = await make(alice)
  const pair = await make(alice, { kty: 'EC', crv: 'P-256' })
  const mallory = kms.user('mallory')
  for (const target of [victim.kid, pair.kid, pair.kid_public]) {
    const { kid } = await make(mallory)
    await db.commit([{ query: setLink as never, params: [target ?? '', kid ?? ''], expect: 1 }])
    assert.equal((await mallory.del(`/v1/crypto/keys/${kid}`)).status, 204)
    assert.equal((await alice.get(`/v1/crypto/keys/${target}`)).status, 200)
  }
})

const setAlgorithm = query<[string, string], unknown>(
  'UPDATE managed_object SET algorithm = ?, version = version + 1 WHERE id = ?',
)
const spoil = query<[Uint8Array, string], unknown>(
  'UPDATE managed_object SET material = ?, version = version + 1 WHERE id = ?',
)

test('the key set omits keys that cannot be published, and has the others', async () => {
  const { db } = kms.environment
  const good = await make(alice, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const broken = await make(alice, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const foreign = await make(alice, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  await make(alice, { kty: 'oct', alg: 'A256GCM', tags: ['jwks'] })
  await db.commit([
    { query: spoil as never, params: [Buffer.from('x'), broken.kid_public ?? ''], expect: 1 },
    { query: setAlgorithm as never, params: ['GOST', foreign.kid_public ?? ''], expect: 1 },
  ])
  const answer = await kms.with({}).get('/.well-known/jwks.json')
  assert.equal(answer.status, 200, answer.text)
  const shown = answer.json.keys.map((jwk: { kid: string }) => jwk.kid)
  assert.ok(shown.includes(good.kid_public))
  assert.ok(!shown.includes(broken.kid_public) && !shown.includes(foreign.kid_public))
  assert.ok(kms.log.some((line) => line.includes('cannot be published in the key set')))
  for (const { kid_public: kid } of [broken, foreign]) {
    const described = await alice.get(`/v1/crypto/keys/${kid}`)
    assert.deepEqual([described.status, described.json?.public_jwk], [200, undefined], described.text)
  }
})

test('the key set is bounded, reports a truncation, has both keys of a rotation, and changes its entity tag', async () => {
  await using small = await startKms({ config: { jwks_endpoint_max_keys: 2 } })
  const anna = small.user('anna')
  const path = '/.well-known/jwks.json'
  const shown = async () => {
    const answer = await small.with({}).get(path)
    return {
      kids: answer.json.keys.map((jwk: { kid: string }) => jwk.kid),
      etag: String(answer.headers.etag),
      cut: answer.headers['x-jwks-truncated'],
      cache: answer.headers['cache-control'],
    }
  }
  const empty = await shown()
  assert.deepEqual(
    [empty.kids, empty.cut, empty.cache],
    [[], undefined, 'public, max-age=60, must-revalidate'],
  )
  const [one, two, three] = [
    await make(anna, { kty: 'EC', crv: 'P-256', alg: 'ES256' }),
    await make(anna, { kty: 'OKP' }),
    await make(anna, { kty: 'EC', crv: 'P-384', alg: 'ES384' }),
  ]
  const full = await shown()
  assert.deepEqual([full.kids, full.cut], [[three?.kid_public, two?.kid_public], 'true'])
  // The old key leaves the set when its tag does; until then both are there.
  await anna.del(`/v1/crypto/keys/${two?.kid_public}/tags`, { tags: ['jwks'] })
  const rotated = await shown()
  assert.deepEqual([rotated.kids, rotated.cut], [[three?.kid_public, one?.kid_public], undefined])
  assert.equal(new Set([empty.etag, full.etag, rotated.etag]).size, 3)
  for (const header of [rotated.etag, `"x", ${rotated.etag}`, rotated.etag.slice(2), '*']) {
    const again = await small.with({ 'if-none-match': header }).get(path)
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', rotated.etag], header)
  }
  assert.equal((await small.with({ 'if-none-match': full.etag }).get(path)).status, 200)
  await using none = await startKms({ config: { jwks_endpoint_enabled: false } })
  assert.equal((await none.with({}).get(path)).status, 404)
})

test("many keys of one owner do not displace other owners' keys in the key set", async () => {
  await using small = await startKms({ config: { jwks_endpoint_max_keys: 3 } })
  const [anna, bert] = [small.user('anna'), small.user('bert')]
  const first = await make(anna, { kty: 'OKP' })
  const many: string[] = []
  for (let count = 0; count < 6; count += 1) many.push((await make(bert, { kty: 'OKP' })).kid_public ?? '')
  const answer = await small.with({}).get('/.well-known/jwks.json')
  const shown = answer.json.keys.map((jwk: { kid: string }) => jwk.kid)
  assert.deepEqual(shown, [many[5], many[4], first.kid_public], 'the newest first')
  assert.equal(answer.headers['x-jwks-truncated'], 'true')
})
