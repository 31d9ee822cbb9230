import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../testing/client.ts'
import { grant } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

const dayMs = 86_400_000
let now = 1_800_000_000_000
const kms = await startSharedKms({
  clock: { now: () => now, monotonic: () => performance.now() },
  config: { 'roles.crypto_officer_users': ['olga'] },
})
for (const user of ['alice', 'bob']) {
  await grant(kms.user('olga'), '*', user, 'create')
}
const alice = kms.user('alice')

const path = '/v1/crypto/keys'
const data = Buffer.from('attack at dawn').toString('base64url')
const make = async (by: Caller, body: object = {}): Promise<Record<string, string>> => {
  const made = await by.post(path, { kty: 'oct', alg: 'A256GCM', ...body })
  assert.equal(made.status, 200, made.text)
  return made.json
}
const list = async (by: Caller, query: Readonly<Record<string, string>> = {}) => {
  const answer = await by.get(`${path}?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json as { keys: Record<string, unknown>[]; next: string | null }
}
const kids = async (by: Caller, query: Readonly<Record<string, string>> = {}) =>
  (await list(by, query)).keys.map(({ kid }) => kid)
const dates = (kid: string | undefined, body: object, by = alice) =>
  by.call('PATCH', `${path}/${kid}`, { json: body })
const at = (ms: number): string => new Date(ms).toISOString()

test('the list has the documented members of keys, and each filter finds its keys', async () => {
  const carol = kms.user('olga')
  const one = await make(carol, { tags: ['invoices', 'eu'] })
  const pair = await make(carol, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  assert.equal((await dates(one.kid, { deactivation_at: at(now + 20 * dayMs) }, carol)).status, 200)
  await carol.post('/v1/crypto/encrypt', { kid: one.kid, alg: 'dir', enc: 'A256GCM', data })
  await kms.services.uses.flush()
  await carol.post('/v1/crypto/aliases', { alias: 'bills', kid: one.kid })
  const { keys } = await list(carol, { tag: 'invoices' })
  assert.deepEqual(keys, [
    {
      kid: one.kid,
      object_type: 'SymmetricKey',
      kty: 'oct',
      algorithm: 'AES',
      alg: 'A256GCM',
      bits: 256,
      state: 'Active',
      owner: 'olga',
      tags: ['eu', 'invoices'],
      aliases: ['bills'],
      version: 1,
      created_at: at(now),
      activation_at: at(now),
      deactivation_at: at(now + 20 * dayMs),
      last_used: at(now).slice(0, 10),
    },
  ])
  const both = [pair.kid, pair.kid_public]
  for (const [query, expected] of [
    [{}, [one.kid, ...both]],
    [{ algorithm: 'EC' }, both],
    [{ alg: 'ES256', type: 'PublicKey' }, [pair.kid_public]],
    [{ alg: 'ES256', excluded_type: 'PublicKey' }, [pair.kid]],
    [{ expires_before: at(now + 30 * dayMs) }, [one.kid]],
    [{ expires_before: at(now + 10 * dayMs) }, []],
    [{ state: 'Active' }, [one.kid, ...both]],
    [{ state: 'Deactivated' }, []],
    [{ created_after: at(now + 1) }, []],
    [{ created_before: at(now + 1) }, [one.kid, ...both]],
    [{ rotated_before: at(now) }, []],
    [{ unused_since: at(now + dayMs) }, [one.kid, ...both]],
    [{ unused_since: at(now) }, []],
    [{ used_since: at(now).slice(0, 10) }, [one.kid, ...both]],
    [{ disabled: 'true' }, []],
    [{ disabled: 'false', tag: 'eu' }, [one.kid]],
    [{ awaits_destruction: 'true' }, []],
  ] as const)
    assert.deepEqual(await kids(carol, query), expected, JSON.stringify(query))
})

test('a rotated key is listed once, by its kid, with the dates of the version that encrypts', async () => {
  const bob = kms.user('bob')
  const { kid = '' } = await make(bob, { tags: ['rotated'] })
  const made = now
  now += 3 * dayMs
  const again = kms.user('bob')
  assert.equal((await again.post(`${path}/${kid}/rotate`, {})).status, 200)
  const { keys } = await list(again, { tag: 'rotated' })
  assert.deepEqual(
    keys.map((key) => [key.kid, key.version, key.created_at, key.rotated_at]),
    [[kid, 2, at(made), at(now)]],
  )
  assert.deepEqual(await kids(again, { rotated_after: at(now) }), [kid])
  assert.deepEqual(await kids(again, { rotated_before: at(now) }), [])
  assert.deepEqual(await kids(again, { created_before: at(made + 1) }), [kid])
  // All of its versions are disabled with it, and come back with it.
  const versions = (await again.get(`${path}/${kid}/versions`)).json.versions as { kid: string }[]
  const sealed = (await again.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).json
  await again.post(`${path}/${kid}/disable`, {})
  for (const version of versions)
    assert.notEqual((await again.get(`${path}/${version.kid}`)).json.disabled_at, undefined)
  assert.equal((await again.post('/v1/crypto/decrypt', sealed)).status, 422)
  assert.equal((await again.post(`${path}/${kid}/rotate`, {})).status, 422)
  await again.post(`${path}/${kid}/enable`, {})
  assert.equal((await again.post('/v1/crypto/decrypt', sealed)).json.data, data)
  assert.deepEqual(await kids(again, { disabled: 'true' }), [])
})

test("only crypto officers list other users' keys", async () => {
  const mine = kms.user('alice')
  const { kid } = await make(mine)
  for (const owner of ['bob', '*']) {
    const refused = await mine.get(`${path}?owner=${owner}`)
    assert.deepEqual([refused.status, refused.json.error], [403, 'forbidden'])
  }
  const olga = kms.user('olga')
  assert.deepEqual(await kids(olga, { owner: 'alice' }), [kid])
  assert.ok((await kids(olga, { owner: '*' })).length >= 4)
  assert.deepEqual(await kids(kms.user('nobody')), [])
  assert.equal((await kms.with({}).get(path)).status, 401)
})

test('pages contain all keys, and a cursor is valid for one filter', async () => {
  const olga = kms.user('olga')
  const all = await kids(olga, { owner: '*' })
  const paged: unknown[] = []
  let next: string | null | undefined
  do {
    const page: Awaited<ReturnType<typeof list>> = await list(olga, {
      owner: '*',
      limit: '2',
      ...(next != null && { after: next }),
    })
    paged.push(...page.keys.map(({ kid }) => kid))
    next = page.next
  } while (next !== null)
  assert.deepEqual(paged, all)
  const { next: of } = await list(olga, { owner: '*', limit: '1' })
  const other = await olga.get(`${path}?owner=olga&after=${of}`)
  assert.deepEqual([other.status, other.json.error], [400, 'bad_request'])
})

test('hostile filters and cursors are refused with an error, and reveal no keys of other users', async () => {
  const mine = kms.user('alice')
  const cursor = (parts: unknown): string => Buffer.from(JSON.stringify(parts)).toString('base64url')
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=-1',
    'limit=1e3',
    'state=active',
    'state=constructor',
    'type=Key',
    'disabled=yes',
    'created_after=yesterday',
    'created_after=2027-02-30',
    'created_after=2027-13-01',
    'created_after=+275760-09-13',
    'expires_before=2027-01-01T25:00:00Z',
    'unused_since=',
    'tag=a%00b',
    'tag=%ED%A0%80',
    'after=x',
    'after=%00',
    `after=${cursor([1])}`,
    `after=${cursor({ length: 4 })}`,
    `after=${cursor(['', 'owner', 0, ''])}`,
    `after=${cursor(['', '__proto__', 0, 'x'])}`,
    `after=${cursor(['', 'owner', '0', 'x'])}`,
    `after=${cursor(['', 'owner', 1e300, 'x'])}`,
    `after=${cursor(['', 'owner', 0, 'a\u0000'])}`,
    `owner=${'x'.repeat(300)}`,
  ]) {
    const answer = await mine.get(`${path}?${query}`)
    assert.deepEqual([answer.status, answer.json.error], [400, 'bad_request'], `${query} ${answer.text}`)
  }
  // A cursor of every order, with the right mark, leads to no other user's keys.
  const { next } = await list(mine, { limit: '1', tag: 'none' }).then(async (page) =>
    page.next === null ? await list(kms.user('olga'), { limit: '1' }) : page,
  )
  const [mark] = JSON.parse(Buffer.from(next ?? '', 'base64url').toString())
  const olgas = kms.user('olga')
  for (const walk of ['all', 'tag', 'ends', 'used', 'created', 'rotated', 'state', 'algorithm', 'disabled']) {
    const shown = await list(olgas, { after: cursor([mark, walk, Number.MIN_SAFE_INTEGER, '0']) })
    for (const { owner } of shown.keys) assert.equal(owner, 'olga', walk)
  }
})

test('dates are set, shown and removed for both keys of a pair, unless they have passed', async () => {
  const mine = kms.user('alice')
  const { kid, kid_public: half } = await make(mine, { kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const set = (body: object) => dates(kid, body, mine)
  const stop = at(now + 5 * dayMs)
  const end = at(now + 9 * dayMs)
  const done = await set({ protect_stop_at: stop, deactivation_at: end })
  assert.deepEqual([done.status, done.json.protect_stop_at, done.json.deactivation_at], [200, stop, end])
  const other = (await mine.get(`${path}/${half}`)).json
  assert.deepEqual([other.protect_stop_at, other.deactivation_at], [stop, end])
  for (const [body, sentence] of [
    [{ deactivation_at: at(now - 1) }, /in the past/],
    [{ deactivation_at: at(now + 4 * dayMs) }, /deactivation_at is before protect_stop_at/],
    [{ activation_at: at(now + dayMs) }, /is Active/],
    [{ activation_at: null }, /is Active/],
    [{ protect_stop_at: at(now + 10 * dayMs) }, /is before/],
  ] as const) {
    const refused = await set(body)
    assert.deepEqual([refused.status, refused.json.error], [422, 'crypto_failure'], refused.text)
    assert.match(refused.json.description, sentence)
  }
  for (const body of [{}, { deactivation_at: 'soon' }, { deactivation_at: 5 }, { state: 'Active' }])
    assert.equal((await set(body)).status, 400, JSON.stringify(body))
  assert.equal((await set({ deactivation_at: null })).json.deactivation_at, undefined)
  const signs = async (): Promise<number> =>
    (await kms.user('alice').post('/v1/crypto/sign', { kid, alg: 'ES256', data })).status
  assert.equal(await signs(), 200)
  now += 5 * dayMs
  assert.equal(await signs(), 422)
  const late = await dates(kid, { protect_stop_at: null }, kms.user('alice'))
  assert.match(late.json.description, /has passed/)
  assert.equal((await dates(kid, { deactivation_at: end }, kms.user('bob'))).status, 404)
})
