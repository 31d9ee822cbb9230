import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endName } from '@warder/keys'
import { startKms, startSharedKms } from '../testing/start.ts'

interface Row {
  readonly user_id: string
  readonly unique_identifier: string
  readonly owner_id?: string
  readonly right: string
  readonly way: string
  readonly granted_to?: string
  readonly tag?: string
  readonly last_used?: string
}

const kms = await startSharedKms()
const own = await makeKey('alice')
const tagged = await makeKey('alice', { tags: ['prod', 'eu'] })
const hidden = await makeKey('carol', { tags: ['prod'] })
await putGroup('ops', ['bob', 'app:web-*', 'group:night'])
await putGroup('staff', ['gina', 'hal'], 'carol')
await grant('alice', { unique_identifier: own, user_id: 'bob', operation_types: ['encrypt', 'decrypt'] })
await grant('alice', { unique_identifier: own, user_id: 'group:ops', operation_types: ['encrypt'] })
await grant('alice', { unique_identifier: own, user_id: 'group:staff', operation_types: ['sign'] })
await grant('alice', { unique_identifier: own, user_id: 'role:corp/dev', operation_types: ['get'] })
await grant('alice', { unique_identifier: tagged, user_id: '*', operation_types: ['encrypt'] })
await grant('alice', { tag: 'prod', user_id: 'group:ops', operation_types: ['decrypt'] })
await grant('alice', { tag: 'prod', user_id: 'dan', operation_types: ['decrypt', 'mac'] })
await grant('carol', { unique_identifier: hidden, user_id: 'dan', operation_types: ['encrypt'] })
const used = { kid: own, alg: 'dir', enc: 'A256GCM', data: 'eA' }
assert.equal((await kms.user('bob').post('/v1/crypto/encrypt', used)).status, 200)
await kms.services.uses.flush()

async function makeKey(owner: string, more: object = {}): Promise<string> {
  const made = await kms.user(owner).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', ...more })
  assert.equal(made.status, 200, made.text)
  return made.json.kid
}

async function grant(by: string, body: object): Promise<void> {
  const granted = await kms.user(by).post('/access/grant', body)
  assert.equal(granted.status, 200, granted.text)
}

async function putGroup(name: string, members: readonly string[], by = 'alice'): Promise<void> {
  if (members.includes('group:night')) await putGroup('night', ['eve', 'bob'])
  const path = `/access/groups/${encodeURIComponent(name)}`
  const made = await kms.user(by).call('PUT', path, { json: { members } })
  assert.equal(made.status, 200, made.text)
}

async function readRows(by: string, query = '', limit = 1000): Promise<readonly Row[]> {
  const rows: Row[] = []
  let next: string | undefined
  do {
    const from = next === undefined ? '' : `&after=${next}`
    const page = await kms.user(by).get(`/access/report?limit=${limit}${query}${from}`)
    assert.equal(page.status, 200, page.text)
    assert.ok(page.json.length <= limit)
    rows.push(...page.json)
    next = page.headers['x-next-after'] as string | undefined
  } while (next !== undefined)
  return rows
}

const names = () =>
  new Map([own, tagged, hidden].map((kid, index) => [kid, ['own', 'tagged', 'hidden'][index]]))
const brief = (rows: readonly Row[]): readonly string[] =>
  rows
    .map(({ user_id, unique_identifier: kid, right, way, granted_to = '', tag = '' }) =>
      `${user_id} ${names().get(kid) ?? kid} ${right} ${way} ${granted_to} ${tag}`.trim(),
    )
    .sort()

const ofAlice = [
  'alice own * owner',
  'alice tagged * owner',
  'bob own encrypt direct',
  'bob own decrypt direct',
  'bob own encrypt group group:ops',
  'eve own encrypt group group:ops',
  'app:web-* own encrypt group group:ops',
  'role:corp/dev own get role',
  '* tagged encrypt wildcard',
  'bob tagged decrypt tag group:ops prod',
  'eve tagged decrypt tag group:ops prod',
  'app:web-* tagged decrypt tag group:ops prod',
  'dan tagged decrypt tag  prod',
  'dan tagged mac tag  prod',
]
const all = [
  ...ofAlice,
  'gina own sign group group:staff',
  'hal own sign group group:staff',
  'carol hidden * owner',
  'dan hidden encrypt direct',
]

test('a user who manages users sees all rights, with the members of groups and the way of each', async () => {
  const rows = await readRows('admin')
  assert.deepEqual(brief(rows), [...all].sort())
  const used = rows.filter(({ last_used: day }) => day !== undefined)
  const today = new Date(kms.environment.clock.now()).toISOString().slice(0, 10)
  assert.ok(used.length > 0)
  for (const { user_id, unique_identifier, last_used } of used)
    assert.deepEqual([user_id, unique_identifier, last_used], ['bob', own, today])
})

test('pages of every size, and the CSV, have the same rows as the complete report', async () => {
  for (const by of ['admin', 'alice', 'dan', 'bob']) {
    const whole = await readRows(by)
    for (const limit of [1, 2, 5]) assert.deepEqual(await readRows(by, '', limit), whole, `${by} ${limit}`)
    const { text, headers, status } = await kms.user(by).get('/access/report/csv')
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^text\/csv; charset=utf-8/)
    const [head, ...lines] = text.split('\r\n')
    assert.equal(head, 'user_id,unique_identifier,owner_id,right,way,granted_to,tag,last_used')
    assert.equal(lines.length, whole.length + 1)
  }
})

test('an owner sees the rights on own keys, with the members of the groups that they may read, and own rights', async () => {
  assert.deepEqual(brief(await readRows('alice')), [...ofAlice, 'group:staff own sign group'].sort())
  assert.deepEqual(brief(await readRows('dan')), [
    'dan hidden encrypt direct',
    'dan tagged decrypt tag  prod',
    'dan tagged encrypt wildcard *',
    'dan tagged mac tag  prod',
  ])
  assert.deepEqual(brief(await readRows('nobody')), ['nobody tagged encrypt wildcard *'])
  assert.deepEqual(brief(await readRows('eve')), [
    'eve own encrypt group group:ops',
    'eve tagged decrypt tag group:ops prod',
    'eve tagged encrypt wildcard *',
  ])
})

test('filters select by user, key, right and way', async () => {
  const filtered = async (by: string, query: string) => brief(await readRows(by, query, 2))
  const some = (rows: readonly string[], keep: (row: string) => boolean) => rows.filter(keep).sort()
  assert.deepEqual(
    await filtered('admin', `&unique_identifier=${own}`),
    some(all, (row) => row.split(' ')[1] === 'own'),
  )
  for (const way of ['owner', 'direct', 'wildcard', 'group', 'role', 'tag'])
    assert.deepEqual(
      await filtered('admin', `&way=${way}`),
      some(all, (row) => row.split(' ')[3] === way),
    )
  assert.deepEqual(
    await filtered('admin', '&right=Decrypt'),
    some(all, (row) => /^\S+ \S+ (decrypt|\*) /.test(row)),
  )
  const bob = [
    'bob own decrypt direct',
    'bob own encrypt direct',
    'bob own encrypt group group:ops',
    'bob tagged decrypt tag group:ops prod',
    'bob tagged encrypt wildcard *',
  ]
  for (const by of ['admin', 'alice', 'bob']) assert.deepEqual(await filtered(by, '&user_id=bob'), bob, by)
  assert.deepEqual(await filtered('admin', '&user_id=app:web-7&way=group'), [
    'app:web-7 own encrypt group group:ops',
  ])
  assert.deepEqual(await filtered('admin', '&user_id=group:staff'), ['group:staff own sign group'])
  assert.deepEqual(await filtered('admin', `&user_id=bob&unique_identifier=${tagged}`), bob.slice(3))
  assert.deepEqual(await filtered('alice', '&user_id=carol'), ['carol tagged encrypt wildcard *'])
  for (const query of [
    'user_id=',
    'user_id=Group:x',
    'right=UseKey',
    'right=x',
    'way=x',
    'limit=0',
    'limit=1001',
  ])
    assert.equal((await kms.user('alice').get(`/access/report?${query}`)).status, 400, query)
})

test('the report is no oracle: a key that the caller may not know gets the response of a missing key', async () => {
  for (const path of ['/access/report', '/access/report/csv']) {
    const ask = async (by: string, kid: string, more = '') => {
      const { status, text, headers } = await kms.user(by).get(`${path}?unique_identifier=${kid}${more}`)
      return [status, text, headers['x-next-after']]
    }
    const unknown = await ask('alice', '00000000-0000-0000-0000-000000000000')
    assert.equal(unknown[0], 200)
    for (const more of ['', '&user_id=dan', '&user_id=carol', '&user_id=alice', '&way=direct'])
      assert.deepEqual(await ask('alice', hidden, more), unknown, more)
    assert.deepEqual(await ask('bob', own, '&user_id=eve'), unknown, 'rights of others on a known key')
  }
})

test('a cursor is opaque, and counts only for its caller and filters', async () => {
  const first = await kms.user('dan').get('/access/report?limit=1')
  const cursor = String(first.headers['x-next-after'])
  for (const kid of [own, tagged, hidden])
    assert.ok(!Buffer.from(cursor, 'base64url').toString('latin1').includes(kid))
  const changed = `${cursor.slice(0, -2)}${cursor.endsWith('A') ? 'B' : 'A'}A`
  for (const [by, query] of [
    ['bob', `after=${cursor}`],
    ['admin', `after=${cursor}`],
    ['dan', `right=mac&after=${cursor}`],
    ['dan', `after=${changed}`],
    ['dan', 'after=AAAA'],
    ['dan', 'after='],
  ] as const)
    assert.equal((await kms.user(by).get(`/access/report?${query}`)).status, 400, `${by} ${query}`)
})

test('no cell of the CSV is a formula, and no value breaks a line', async () => {
  const kid = await makeKey('mallory', { tags: ['=cmd|calc'] })
  const names = ['=1+1', '+cmd', '-2', '@SUM(A1)', '"=1"', 'a"b,c', '\uff1dcmd']
  for (const user_id of names)
    await grant('mallory', { unique_identifier: kid, user_id, operation_types: ['get'] })
  await grant('mallory', { tag: '=cmd|calc', user_id: 'dan', operation_types: ['get'] })
  const { text } = await kms.user('mallory').get('/access/report/csv')
  const rows = await readRows('mallory')
  const lines = text.trimEnd().split('\r\n')
  assert.equal(lines.length, rows.length + 1)
  for (const line of lines.slice(1))
    for (const [, quoted = ''] of line.matchAll(/(?<=^|,)"((?:[^"]|"")*)"(?=,|$)/g))
      assert.doesNotMatch(quoted.replaceAll('""', '"'), /^[\s"]*[=+\-@\uff1d]/, line)
  assert.ok(text.includes('"\'=1+1"') && text.includes('"a""b,c"'))
})

test('the report of a user has exactly the rights that an explanation allows', async () => {
  for (const user of ['bob', 'eve', 'dan', 'gina', 'app:web-7']) {
    const rows = await readRows('admin', `&user_id=${user}`)
    for (const kid of [own, tagged, hidden])
      for (const operation of ['encrypt', 'decrypt', 'sign', 'mac', 'get']) {
        const asked = { user_id: user, unique_identifier: kid, operation }
        const { json } = await kms.user('admin').post('/access/explain', asked)
        const grants = json.reasons.filter(({ allows }: { allows: boolean }) => allows)
        const listed = rows.filter(({ unique_identifier: id, right }) => id === kid && right === operation)
        assert.deepEqual(
          listed.map(({ way }) => way).sort(),
          grants.map(({ kind }: { kind: string }) => kind).sort(),
          `${user} ${operation} ${names().get(kid)}`,
        )
      }
  }
})

test('a group with many members is listed in pages, each member once', async () => {
  const members = Array.from({ length: 1500 }, (_, index) => `m${String(index).padStart(4, '0')}`)
  await putGroup('many', members, 'peter')
  const kid = await makeKey('peter')
  await grant('peter', { unique_identifier: kid, user_id: 'group:many', operation_types: ['UseKey'] })
  const rows = await readRows('peter', `&unique_identifier=${kid}`, 999)
  const of = (right: string) => rows.filter((row) => row.right === right).map(({ user_id }) => user_id)
  for (const right of ['encrypt', 'decrypt', 'certify']) assert.deepEqual(of(right), members)
  assert.equal(rows.length, 1 + 7 * 1500)
  const { text } = await kms.user('peter').get(`/access/report/csv?unique_identifier=${kid}`)
  assert.equal(text.trimEnd().split('\r\n').length, rows.length + 1)
})

test('officers and patterns that fit a name stay when the user is deleted', async () => {
  await using strict = await startKms({ config: { 'roles.crypto_officer_users': ['olga', 'otto'] } })
  const group = { json: { members: ['olgi*', 'clerk-*'] } }
  assert.equal((await strict.user('otto').call('PUT', '/access/groups/clerks', group)).status, 200)
  const read = async (user: string) => {
    const { json } = await strict.user('otto').get(`/access/leaver?user_id=${user}`)
    return json.items.map(({ kind, outcome }: Record<string, unknown>) => [kind, outcome])
  }
  assert.deepEqual(await read('olga'), [['officer', 'stays']])
  assert.deepEqual(await read('clerk-7'), [['patterns', 'stays']])
  assert.deepEqual(await read('clerk'), [])
})

test('the deletion of a user has the announced outcome for each kind', async () => {
  const { db, clock } = kms.environment
  const kid = await makeKey('lee', { tags: ['lee-tag'] })
  const alias = { alias: 'lee-key', kid }
  assert.equal((await kms.user('lee').post('/v1/crypto/aliases', alias)).status, 200)
  await grant('alice', { unique_identifier: own, user_id: 'lee', operation_types: ['encrypt', 'get'] })
  await grant('alice', { tag: 'prod', user_id: 'lee', operation_types: ['encrypt'] })
  await grant('lee', { tag: 'lee-tag', user_id: 'dan', operation_types: ['encrypt'] })
  await putGroup('lee-sole', ['lee'], 'lee')
  const shared = { json: { members: ['lee'], owners: ['lee', 'alice'] } }
  assert.equal((await kms.user('lee').call('PUT', '/access/groups/lee-shared', shared)).status, 200)
  const ask = async (by: string, user = 'lee') => kms.user(by).get(`/access/leaver?user_id=${user}`)
  const read = async (by: string, user?: string) => {
    const { status, json, text } = await ask(by, user)
    assert.equal(status, 200, text)
    return Object.fromEntries(
      json.items.map(({ kind, count, names, outcome }: Record<string, unknown>) => [
        kind,
        [outcome, count, ...(names as string[])],
      ]),
    )
  }
  const before = {
    keys: ['needs_new_owner', 1, kid],
    aliases: ['needs_new_owner', 1, 'lee-key'],
    grants: ['deleted', 1, own],
    tag_grants: ['deleted', 1, 'prod'],
    own_tag_grants: ['deleted', 1, 'lee-tag'],
    memberships: ['deleted', 2, 'group:lee-shared', 'group:lee-sole'],
    sole_groups: ['needs_new_owner', 1, 'group:lee-sole'],
    shared_groups: ['deleted', 1, 'group:lee-shared'],
  }
  for (const by of ['admin', 'lee']) assert.deepEqual(await read(by), before, by)
  assert.equal((await ask('alice')).status, 403)
  assert.equal((await ask('alice', 'no-such-user')).status, 403)
  for (const user of ['', '*', 'group:ops', 'Role:a/b', 'aws:arn:x'])
    assert.equal((await ask('admin', encodeURIComponent(user))).status, 400, user)
  await endName({ db, commit: db.commit, now: () => clock.now() }, 'lee', 's1')
  assert.deepEqual(await read('admin'), {})
  const left = await read('admin', encodeURIComponent('ended:lee:s1'))
  assert.deepEqual(left, { keys: before.keys, aliases: before.aliases })
  assert.deepEqual(brief(await readRows('dan', `&unique_identifier=${kid}`)), [`dan ${kid} encrypt direct`])
  assert.deepEqual((await kms.user('admin').get('/access/groups/lee-sole')).json.owners, [])
  assert.deepEqual((await kms.user('alice').get('/access/groups/lee-shared')).json.owners, ['alice'])
})

test('rows name their keys by the aliases of the owner, for officers and the owner alone', async () => {
  await using lone = await startKms({ config: { 'roles.crypto_officer_users': ['olga'] } })
  await lone.user('olga').post('/access/grant', { user_id: 'alice', operation_types: ['create'] })
  const made = await lone.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const { kid } = made.json
  const grantee = { unique_identifier: kid, user_id: 'bob', operation_types: ['encrypt'] }
  assert.equal((await lone.user('alice').post('/access/grant', grantee)).status, 200)
  for (const [user, name] of [
    ['alice', 'orders'],
    ['bob', 'mine'],
  ] as const) {
    const aliased = await lone.user(user).post('/v1/crypto/aliases', { alias: `alias/${name}`, kid })
    assert.ok(aliased.status < 300, aliased.text)
  }
  for (const [user, aliases] of [
    ['olga', ['orders']],
    ['alice', ['orders']],
    ['bob', undefined],
  ] as const) {
    const rows = (await lone.user(user).get(`/access/report?unique_identifier=${kid}`)).json
    assert.ok(rows.length > 0)
    for (const row of rows) assert.deepEqual(row.aliases, aliases, user)
  }
  const csv = (await lone.user('alice').get('/access/report/csv')).text
  assert.ok(csv.startsWith('user_id,unique_identifier,owner_id,right,way,granted_to,tag,last_used\r\n'))
})
