import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bothEngines, type Started, startKms } from '@warder/kms/testing'
import type { ObjectId } from '../objects/object-id.ts'
import { findObject } from '../objects/object-store.ts'
import { principalNamed } from './external-names.ts'
import { endName } from './names.ts'
import { verdictOn } from './permission.ts'

test('no credential yields the name of a group or a role', () => {
  for (const name of ['group:ops', 'role:corp/engineers'])
    for (const method of ['jwt', 'session', 'tls_auth', 'app_token', 'spiffe', 'default_username'])
      assert.throws(() => principalNamed(name, method), { kind: 'unauthorized' }, `${name} ${method}`)
})

for (const engine of await bothEngines())
  describe(`groups, roles and tags on ${engine.name}`, { skip: engine.skip }, () => {
    const start = async (config: object = {}): Promise<Started> =>
      startKms({ db: await engine.open(await engine.url()), config: { cache_lease_ms: 0, ...config } })
    let kms: Started
    before(async () => {
      kms = await start()
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

    test('the uses of keys that a request names beside its own are recorded with the group that permits them', async () => {
      assert.equal((await put('deriving', { members: ['hans'] })).status, 200)
      const made = async (by: string, body: object, path = '/v1/crypto/keys') => {
        const reply = await kms.user(by).post(path, body)
        assert.ok(reply.status < 300, reply.text)
        return reply.json
      }
      const master = await made('alice', { kty: 'ABE', access_structure: { Team: ['blue'] } })
      assert.equal((await grant(master.kid, 'group:deriving', ['derivekey', 'rekey'])).status, 200)
      assert.equal((await grant(master.kid_public, 'group:deriving', ['rekey'])).status, 200)
      await made('hans', { kty: 'ABE', master: master.kid, policy: 'Team::blue' })
      assert.equal(kms.audit.at(-1)?.details?.via, 'group:deriving')
      const pair = await made('alice', { kty: 'EC', crv: 'P-256', alg: 'ES256' })
      assert.equal((await grant(pair.kid, 'group:deriving', ['certify'])).status, 200)
      await made('hans', { kid: pair.kid, subject: 'CN=Hans' }, '/v1/pki/authorities')
      assert.equal(kms.audit.at(-1)?.details?.via, 'group:deriving')
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
        assert.equal(
          (await kms.user('alice').post('/access/grant', wrong)).status,
          400,
          JSON.stringify(wrong),
        )
    })

    test('the right to change tags does not permit a caller to gain rights that are granted by tag', async () => {
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

    test('lists contain all rights by groups and tags, on every page', async () => {
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
        for (const { object_id, operations, via } of page.json)
          found.push([object_id, `${operations}`, `${via}`])
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

    test('cycles, too long chains, and members that a group cannot have are refused by name', async () => {
      for (const [name, members] of [
        ['c1', ['group:c2']],
        ['c2', ['group:c3']],
      ] as const)
        assert.equal((await put(name, { members })).status, 400, 'the group inside does not exist')
      for (const name of ['c3', 'c2', 'c1', 'c0'])
        assert.equal((await put(name, { members: ['mia'] })).status, 200)
      assert.equal((await put('c2', { members: ['group:c3'] })).status, 200)
      assert.equal((await put('c1', { members: ['group:c2'] })).status, 200)
      for (const [name, member, text] of [
        ['c3', 'group:c1', /group:c3 > group:c1 > group:c2 > group:c3/],
        ['c3', 'group:c3', /group:c3 > group:c3/],
        ['c0', 'group:c1', /At most 3 groups/],
        ['c3', 'group:c0', /At most 3 groups/],
        ['c0', 'role:corp/x', /roles are no members/],
        ['c0', '*', /all users/],
        ['c0', 'app*', /at least 4/],
        ['c0', 'web-*-*', /one `\*`/],
        ['c0', 'GROUP:x', /roles are no members|group/i],
        ['c0', 'google:a@b.c', /clouds/],
        ['c0', 'ended:x:1', /deleted user/],
        ['c0', 'a\u202eb', /not the name/],
      ] as const) {
        const refused = await put(name, { members: [member] })
        assert.equal(refused.status, 400, `${name} ${member}: ${refused.text}`)
        assert.match(refused.json.description, text)
      }
      const both = await Promise.all([
        put('c3', { members: ['group:c0'] }),
        put('c0', { members: ['group:c3'] }),
      ])
      assert.ok(!both.every(({ status }) => status === 200), 'at once')
    })

    test('names of groups are compared exactly, and only in one Unicode form', async () => {
      const kid = await makeKey('alice')
      assert.equal((await put('Straße', { members: ['nora'] })).status, 200)
      assert.equal((await put('STRASSE', { members: ['omar'] })).status, 200)
      assert.equal((await grant(kid, 'group:Straße', ['encrypt'])).status, 200)
      assert.deepEqual([await encrypt('nora', kid), await encrypt('omar', kid)], [200, 404])
      for (const name of [
        'e\u0301quipe',
        'group:ops',
        'ops\u200b',
        ' ops',
        'o*s',
        'role:a/b',
        'x'.repeat(251),
      ])
        assert.equal((await put(name, { members: [] })).status, 400, JSON.stringify(name))
      for (const user of ['Group:Straße', 'GROUP:ops', 'Role:corp/x', 'role:corp', 'role:/x', 'role:a*/x'])
        assert.equal((await grant(kid, user, ['encrypt'])).status, 400, user)
      assert.equal(await encrypt('Nora', kid), 404)
    })

    test('a group is changed by its owners, seen by its members, and leaves nothing to the next of its name', async () => {
      const kid = await makeKey('alice')
      assert.equal((await put('team', { members: ['pia'] })).status, 200)
      assert.equal((await grant(kid, 'group:team', ['encrypt'])).status, 200)
      const path = '/access/groups/team'
      assert.equal((await put('team', { members: ['mallory'] }, 'mallory')).status, 403)
      assert.equal((await put('team', { members: ['pia'], owners: ['pia'] }, 'pia')).status, 403)
      assert.deepEqual(
        await Promise.all(
          ['alice', 'pia', 'mallory'].map(async (who) => (await kms.user(who).get(path)).status),
        ),
        [200, 200, 404],
      )
      assert.equal((await kms.user('pia').del(path)).status, 403)
      assert.equal((await kms.user('mallory').del(path)).status, 404)
      assert.equal((await put('team', { members: ['pia'], version: 7 })).status, 409)
      assert.equal((await kms.user('alice').del(path)).status, 204)
      assert.equal(await encrypt('pia', kid), 404)
      assert.equal((await put('team', { members: ['mallory'] }, 'mallory')).status, 200)
      assert.equal(await encrypt('mallory', kid), 404)
    })

    test('a grant to a group permits neither general rights nor uses that officers cannot grant themselves', async () => {
      await using strict = await start({ 'roles.crypto_officer_users': ['olga', 'otto'] })
      const call = (who: string, method: 'PUT' | 'POST', path: string, json: object) =>
        strict.user(who).call(method, path, { json })
      assert.equal(
        (await call('olga', 'POST', '/access/grant', { user_id: 'alice', operation_types: ['create'] }))
          .status,
        200,
      )
      const kid = (await strict.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
        .kid
      const putGroup = (who: string, name: string, members: readonly string[]) =>
        call(who, 'PUT', `/access/groups/${name}`, { members })
      const give = (
        who: string,
        user_id: string,
        operation_types: readonly string[],
        on: string | undefined = kid,
      ) => call(who, 'POST', '/access/grant', { user_id, operation_types, unique_identifier: on })
      assert.equal((await putGroup('olga', 'mixed', ['olga', 'bob'])).status, 403)
      assert.equal((await putGroup('olga', 'mixed', ['otto'])).status, 403)
      assert.equal((await putGroup('olga', 'mixed', ['ot*lga', 'bob*'])).status, 400)
      assert.equal((await putGroup('alice', 'mixed', ['olga', 'bob'])).status, 200)
      assert.equal((await putGroup('olga', 'plain', ['bob'])).status, 200)
      assert.equal((await putGroup('olga', 'plain', ['bob', 'group:mixed'])).status, 403)
      for (const right of ['create', 'external', 'audit'])
        assert.equal((await give('olga', 'group:plain', [right])).status, 400, right)
      assert.equal((await give('olga', 'role:corp/x', ['create'])).status, 400)
      assert.equal((await give('olga', 'role:corp/x', ['audit'], undefined)).status, 200)
      assert.notEqual((await give('olga', 'group:mixed', ['encrypt'])).status, 200)
      assert.notEqual((await give('olga', 'role:corp/x', ['encrypt'])).status, 200)
      assert.equal((await give('olga', 'group:plain', ['encrypt'])).status, 200)
      assert.equal((await give('alice', 'group:mixed', ['encrypt'])).status, 200, 'the owner gives it')
    })

    test('transfer and the end of a user take memberships, groups and grants by tag along', async () => {
      const [from, to] = ['quin', 'rosa']
      const kid = (
        await kms.user(from).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['moved'] })
      ).json.kid
      const other = (
        await kms.user(to).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['moved'] })
      ).json.kid
      const member = await makeKey('alice')
      assert.equal((await put('moving', { members: [from] })).status, 200)
      assert.equal((await grant(member, 'group:moving', ['encrypt'])).status, 200)
      assert.equal((await put('owned', { members: [] }, from)).status, 200)
      assert.equal((await tagGrant('moved', 'sam', ['encrypt'], from)).status, 200)
      assert.deepEqual([await encrypt('sam', kid), await encrypt('sam', other)], [200, 404])
      const moved = await kms.user('admin').post('/access/transfer', { from_user_id: from, to_user_id: to })
      assert.equal(moved.status, 200, moved.text)
      assert.deepEqual(
        [await encrypt('sam', kid), await encrypt('sam', other)],
        [200, 404],
        'no wider than before',
      )
      assert.deepEqual([await encrypt(from, member), await encrypt(to, member)], [404, 200])
      assert.deepEqual((await kms.user('alice').get('/access/groups/moving')).json.members, [to])
      assert.deepEqual((await kms.user(to).get('/access/groups/owned')).json.owners, [to])
      for (const name of ['group:moving', 'role:a/b'])
        assert.equal(
          (await kms.user('admin').post('/access/transfer', { from_user_id: to, to_user_id: name })).status,
          400,
        )
      const { db, clock } = kms.environment
      await endName({ db, commit: db.commit, now: () => clock.now() }, to, 'r1')
      assert.equal(await encrypt(to, member), 404)
      assert.deepEqual((await kms.user('alice').get('/access/groups/moving')).json.members, [])
    })
  })
