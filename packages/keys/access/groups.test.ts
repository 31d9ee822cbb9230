import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Started, startKms } from '@warder/kms/testing'
import type { ObjectId } from '../objects/object-id.ts'
import { findObject } from '../objects/object-store.ts'
import { verdictOn } from './permission.ts'
import { principalNamed } from './principal-named.ts'

let kms: Started
before(async () => {
  kms = await startKms()
})
after(() => kms[Symbol.asyncDispose]())

async function makeKey(owner: string): Promise<ObjectId> {
  const made = await kms.user(owner).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  assert.equal(made.status, 200, made.text)
  return made.json.kid
}

const grant = (kid: string, user_id: string, operation_types: readonly string[], by = 'alice') =>
  kms.user(by).post('/access/grant', { unique_identifier: kid, user_id, operation_types })

test('a right of a role counts for callers with the role, and for no name', async () => {
  const { db } = kms.environment
  const kid = await makeKey('alice')
  assert.equal((await grant(kid, 'role:corp/engineers', ['encrypt'])).status, 200)
  const object = await findObject(db, kid)
  assert.ok(object)
  const verdict = (roles: readonly string[] | undefined, name = 'bob') =>
    verdictOn(db, kms.services.roles, object, roles === undefined ? { name } : { name, roles }, 'encrypt')
  const many = Array.from({ length: 40 }, (_, index) => `role:corp/${index}`)
  assert.equal(await verdict(['role:corp/engineers']), 'allowed')
  assert.equal(await verdict([...many, 'role:corp/engineers']), 'allowed')
  assert.equal(await verdict(many), 'nothing')
  assert.equal(await verdict(['role:other/engineers']), 'nothing')
  assert.equal(await verdict(undefined), 'nothing')
  assert.equal(await verdict(undefined, 'role:corp/engineers2'), 'nothing')
})

test('no credential yields the name of a group or a role', () => {
  for (const name of ['group:ops', 'role:corp/engineers'])
    for (const method of ['jwt', 'session', 'tls_auth', 'app_token', 'spiffe', 'default_username'])
      assert.throws(() => principalNamed(name, method), { kind: 'unauthorized' }, `${name} ${method}`)
})

const put = (name: string, body: object, by = 'alice') =>
  kms.user(by).call('PUT', `/access/groups/${encodeURIComponent(name)}`, { json: body })
const encrypt = async (who: string, kid: string): Promise<number> =>
  (await kms.user(who).post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'eA' })).status

test('a member of a group has its rights on the next request, and has them no more when removed', async () => {
  const kid = await makeKey('alice')
  assert.equal((await grant(kid, 'group:ops', ['encrypt'])).status, 400, 'there is no such group yet')
  const made = await put('ops', { members: ['bob', 'app:web-*', 'app:batch'] })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(made.json.members, ['app:batch', 'app:web-*', 'bob'])
  assert.deepEqual([made.json.owners, made.json.version], [['alice'], 1])
  assert.equal(await encrypt('bob', kid), 404)
  const given = await grant(kid, 'group:ops', ['encrypt'])
  assert.equal(given.status, 200, given.text)
  assert.deepEqual([given.json.known, given.json.user_id], [true, 'group:ops'])
  assert.equal(await encrypt('bob', kid), 200)
  assert.equal(await encrypt('carol', kid), 404)
  const allowed = kms.audit
    .filter(({ principal, outcome }) => principal === 'bob' && outcome === 'success')
    .at(-1)
  assert.equal(allowed?.details?.via, 'group:ops')
  assert.equal((await put('ops', { members: ['carol'] })).status, 200)
  assert.equal(await encrypt('bob', kid), 404)
  assert.equal(await encrypt('carol', kid), 200)
})

const tagGrant = (tag: string, user_id: string, operation_types: readonly string[], by = 'alice') =>
  kms.user(by).post('/access/grant', { tag, user_id, operation_types })

test('a grant by tag reaches present and future keys of its owner with the tag, and no key of another', async () => {
  const tagged = async (owner: string, tags: readonly string[]): Promise<string> =>
    (await kms.user(owner).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags })).json.kid
  const present = await tagged('alice', ['team-a'])
  const given = await tagGrant('team-a', 'dora', ['encrypt'])
  assert.equal(given.status, 200, given.text)
  assert.equal((await tagGrant('team-a', 'group:ops', ['encrypt'])).status, 200)
  const [future, plain, foreign] = [
    await tagged('alice', ['team-a']),
    await tagged('alice', []),
    await tagged('eve', ['team-a']),
  ]
  const reached = await Promise.all([present, future, plain, foreign].map((kid) => encrypt('dora', kid)))
  assert.deepEqual(reached, [200, 200, 404, 404])
  assert.equal(await encrypt('carol', present), 200, 'by tag and group')
  assert.equal(kms.audit.at(-1)?.details?.via, 'tag:team-a group:ops')
  assert.equal(
    (await kms.user('alice').del(`/v1/crypto/keys/${future}/tags`, { tags: ['team-a'] })).status,
    200,
  )
  assert.equal(await encrypt('dora', future), 404)
  const body = { tag: 'team-a', user_id: 'dora', operation_types: ['encrypt'] }
  assert.equal((await kms.user('alice').post('/access/revoke', body)).status, 200)
  assert.equal(await encrypt('dora', present), 404)
  for (const wrong of [
    { tag: '_sk', user_id: 'dora', operation_types: ['encrypt'] },
    { tag: 'x', unique_identifier: present, user_id: 'dora', operation_types: ['encrypt'] },
    { tag: 'x', user_id: 'dora', operation_types: ['create'] },
    { tag: 'x', user_id: 'google:a@b.c', operation_types: ['encrypt'] },
    { tag: 'x', user_id: 'group:nothing', operation_types: ['encrypt'] },
  ])
    assert.equal((await kms.user('alice').post('/access/grant', wrong)).status, 400, JSON.stringify(wrong))
})

test('a right to change tags gives no rights that are granted by tags', async () => {
  const kid = await makeKey('alice')
  assert.equal((await tagGrant('secret', 'mallory', ['get'])).status, 200)
  assert.equal(
    (await grant(kid, 'mallory', ['addattribute', 'deleteattribute', 'modifyattribute'])).status,
    200,
  )
  const tags = `/v1/crypto/keys/${kid}/tags`
  const added = await kms.user('mallory').post(tags, { tags: ['secret'] })
  assert.equal(added.status, 403, added.text)
  assert.equal((await kms.user('mallory').post(tags, { tags: ['other'] })).status, 200)
  assert.equal((await kms.user('alice').post(tags, { tags: ['secret'] })).status, 200)
  assert.equal((await kms.user('mallory').del(tags, { tags: ['secret'] })).status, 403)
  assert.equal((await grant(kid, 'mallory', ['authorize'])).status, 200)
  assert.equal((await kms.user('mallory').del(tags, { tags: ['secret'] })).status, 200)
})

test('lists show what comes by groups and tags, to their end', async () => {
  const tagged = async (tags: readonly string[]): Promise<string> =>
    (await kms.user('hana').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags })).json.kid
  const kids = [
    await tagged([]),
    await tagged(['list-a']),
    await tagged(['list-a']),
    await tagged(['list-b']),
  ]
  const [first = ''] = kids
  assert.equal((await put('readers', { members: ['ivan'] }, 'hana')).status, 200)
  assert.equal((await grant(first, 'group:readers', ['encrypt', 'locate'], 'hana')).status, 200)
  assert.equal((await tagGrant('list-a', 'group:readers', ['decrypt'], 'hana')).status, 200)
  assert.equal((await tagGrant('list-b', 'ivan', ['get'], 'hana')).status, 200)
  const found: [id: string, operations: string, via: string][] = []
  for (let path: string | undefined = '/access/obtained?limit=1'; path !== undefined; ) {
    const page = await kms.user('ivan').get(path)
    assert.equal(page.status, 200, page.text)
    for (const { object_id, operations, via } of page.json) found.push([object_id, `${operations}`, `${via}`])
    const next = page.headers['x-next-after']
    path = next === undefined ? undefined : `/access/obtained?limit=1&after=${String(next)}`
  }
  const byTag = ['tag:list-a group:readers', 'tag:list-a group:readers', 'tag:list-b']
  const rows = kids.map((kid, index) => [
    kid,
    ['encrypt,locate', 'decrypt', 'decrypt', 'get'][index],
    ['group:readers', ...byTag][index],
  ])
  assert.deepEqual(found, rows)
  const grants = (await kms.user('hana').get(`/access/list/${kids[1]}`)).json
  assert.deepEqual(grants, [{ user_id: 'group:readers', operations: ['decrypt'], tag: 'list-a' }])
})
