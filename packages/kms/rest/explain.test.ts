import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query } from '@warder/storage'
import { type Started, startSharedKms } from '../testing/start.ts'

const noKey = '00000000-0000-0000-0000-000000000000'
const kms = await startSharedKms()
const strict = await startSharedKms({
  config: { 'roles.crypto_officer_users': ['olga', 'otto', 'ole'], 'approvals.operations': ['export'] },
})
const body = { user_id: 'alice', operation_types: ['create'] }
assert.equal((await strict.user('olga').post('/access/grant', body)).status, 200)

async function makeKey(on: Started, more: object = {}): Promise<string> {
  const made = await on.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', ...more })
  assert.equal(made.status, 200, made.text)
  return made.json.kid
}

async function grant(on: Started, body: object): Promise<void> {
  const granted = await on.user('alice').post('/access/grant', body)
  assert.equal(granted.status, 200, granted.text)
}

const onKey = (unique_identifier: string, user_id: string, ...operation_types: readonly string[]) => ({
  unique_identifier,
  user_id,
  operation_types,
})

async function putGroup(name: string, members: readonly string[], by = 'alice'): Promise<void> {
  const path = `/access/groups/${encodeURIComponent(name)}`
  const made = await kms.user(by).call('PUT', path, { json: { members } })
  assert.equal(made.status, 200, made.text)
}

const explain = (by: string, user_id: string, unique_identifier: string, operation: string, on = kms) =>
  on.user(by).post('/access/explain', { user_id, unique_identifier, operation })

/** Whether it is allowed, and the kinds of the reasons. */
async function readKinds(...asked: Parameters<typeof explain>): Promise<readonly string[]> {
  const { status, json, text } = await explain(...asked)
  assert.equal(status, 200, text)
  return [String(json.allowed), ...json.reasons.map(({ kind }: { kind: string }) => kind)]
}

test('an explanation names each way of a right, and the reasons against the use', async () => {
  const kid = await makeKey(kms, { tags: ['why'] })
  assert.deepEqual(await readKinds('alice', 'alice', kid, 'encrypt'), ['true', 'owner'])
  assert.deepEqual(await readKinds('alice', 'jane', kid, 'encrypt'), ['false', 'no_grant'])
  assert.match(
    (await explain('alice', 'jane', kid, 'encrypt')).json.step,
    /owner of the key \(alice\) grants/,
  )
  await putGroup('inner', ['app:jane-*', 'jane'])
  await putGroup('outer', ['group:inner'])
  await grant(kms, onKey(kid, 'group:outer', 'encrypt'))
  const { json } = await explain('alice', 'jane', kid, 'encrypt')
  assert.deepEqual(json.reasons[0].path, ['group:outer', 'group:inner', 'jane'])
  assert.match(json.step, /group:outer/)
  const machine = (await explain('alice', 'app:jane-1', kid, 'encrypt')).json.reasons[0].path
  assert.deepEqual(machine, ['group:outer', 'group:inner', 'app:jane-*'])
  await grant(kms, { tag: 'why', user_id: '*', operation_types: ['encrypt'] })
  assert.deepEqual(await readKinds('alice', 'jane', kid, 'encrypt'), ['true', 'group', 'tag'])
  await grant(kms, onKey(kid, '*', 'encrypt'))
  assert.deepEqual(await readKinds('alice', 'zoe', kid, 'encrypt'), ['true', 'wildcard', 'tag'])
  assert.deepEqual(await readKinds('jane', 'jane', kid, 'decrypt'), ['false', 'no_grant'], 'about oneself')
  await grant(kms, onKey(kid, 'role:corp/staff', 'decrypt'))
  assert.deepEqual(await readKinds('alice', 'jane', kid, 'decrypt'), ['false', 'no_grant', 'role_unknown'])
  assert.equal((await kms.user('alice').post(`/v1/crypto/keys/${kid}/disable`, {})).status, 200)
  assert.deepEqual(await readKinds('alice', 'jane', kid, 'encrypt'), [
    'false',
    'wildcard',
    'group',
    'tag',
    'state',
  ])
  assert.match((await explain('alice', 'jane', kid, 'encrypt')).json.step, /state/)
})

test('an explanation agrees with the operation', async () => {
  const [plain, replaced, noUse] = [await makeKey(kms), await makeKey(kms), await makeKey(kms)]
  const alice = kms.user('alice')
  assert.equal((await alice.post(`/v1/crypto/keys/${replaced}/rotate`, {})).status, 200)
  const { json } = await alice.get(`/v1/crypto/keys/${replaced}/versions`)
  const versions = json.versions.map((version: { kid: string }) => version.kid)
  assert.equal((await alice.post(`/v1/crypto/keys/${noUse}/disable`, {})).status, 200)
  assert.equal((await kms.user('admin').post('/access/block', { user_id: 'blake' })).status, 200)
  await putGroup('users', ['gina', 'blake'])
  const kids = [plain, replaced, noUse]
  for (const kid of kids)
    for (const user of ['group:users', 'dave']) await grant(kms, onKey(kid, user, 'encrypt'))
  for (const kid of [...kids, ...versions])
    for (const user of ['alice', 'gina', 'dave', 'blake', 'Dave', 'eve']) {
      const used = await kms
        .user(user)
        .post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'eA' })
      const { allowed } = (await explain('alice', user, kid, 'encrypt')).json
      assert.equal(allowed, used.status === 200, `${user} ${kid}: ${used.text}`)
    }
  assert.deepEqual(await readKinds('alice', 'blake', plain, 'encrypt'), ['false', 'group', 'block'])
  const unextractable = await makeKey(kms, { ext: false })
  assert.deepEqual(await readKinds('alice', 'alice', unextractable, 'get'), ['false', 'owner', 'state'])
})

test('an explanation is no oracle: callers without rights get the response of a missing key', async () => {
  const kid = await makeKey(kms)
  await grant(kms, onKey(kid, 'kim', 'encrypt'))
  await grant(kms, onKey(kid, 'lena', 'authorize'))
  const alias = { alias: 'mine', kid }
  assert.equal((await kms.user('alice').post('/v1/crypto/aliases', alias)).status, 200)
  const unknown = await explain('mallory', 'kim', noKey, 'encrypt')
  assert.equal(unknown.status, 404)
  for (const [by, user, named = kid] of [
    ['mallory', 'kim'],
    ['mallory', 'mallory'],
    ['mallory', 'alice'],
    ['mallory', 'alice', 'mine@alice'],
    ['kim', 'alice'],
    ['kim', 'mallory'],
    ['kim', 'KIM'],
    ['lena', 'kim'],
    ['Alice', 'kim'],
    ['alice', 'kim', 'no-such-key'],
  ] as const) {
    const { status, json } = await explain(by, user, named, 'encrypt')
    assert.deepEqual([status, json], [404, unknown.json], `${by} about ${user}`)
  }
  assert.deepEqual(await readKinds('kim', 'kim', kid, 'decrypt'), ['false', 'no_grant'])
  for (const user of ['group:ops', 'role:a/b', 'Role:a/b', '*', 'aws:arn:x', 'a\u202eb', ' kim', 'k\u0000m'])
    for (const named of [kid, noKey])
      assert.equal((await explain('alice', user, named, 'encrypt')).status, 400, user)
  for (const operation of ['UseKey', 'create', 'nothing', ''])
    assert.equal((await explain('alice', 'kim', kid, operation)).status, 400, operation)
})

test('an owner of a key does not learn the composition of groups of others', async () => {
  const kid = await makeKey(kms)
  await putGroup('secret-inner', ['paul'], 'carol')
  await putGroup('secret', ['group:secret-inner'], 'carol')
  await grant(kms, onKey(kid, 'group:secret', 'encrypt'))
  const readPath = async (by: string) => (await explain(by, 'paul', kid, 'encrypt')).json.reasons[0].path
  assert.equal(await readPath('alice'), undefined)
  assert.deepEqual(await readPath('paul'), ['group:secret', 'group:secret-inner', 'paul'])
  assert.deepEqual(await readPath('admin'), ['group:secret', 'group:secret-inner', 'paul'])
})

test('names that differ in case or Unicode form are other users', async () => {
  const kid = await makeKey(kms)
  await putGroup('names', ['Zo\u00eb'])
  await grant(kms, onKey(kid, 'group:names', 'encrypt'))
  assert.deepEqual(await readKinds('alice', 'Zo\u00eb', kid, 'encrypt'), ['true', 'group'])
  for (const other of ['zo\u00eb', 'Zoe\u0308', 'Z\u043e\u00eb', 'ZO\u00cb'])
    assert.deepEqual(await readKinds('alice', other, kid, 'encrypt'), ['false', 'no_grant'], other)
})

test('a cycle of groups in the database ends an explanation', async () => {
  const kid = await makeKey(kms)
  await putGroup('ring-2', ['nora'])
  await putGroup('ring-1', ['group:ring-2'])
  await grant(kms, onKey(kid, 'group:ring-1', 'encrypt'))
  const { db } = kms.environment
  const insert = query<[string, string, string], unknown>(
    "INSERT INTO access_group_member (group_id, member, lookup, head, tail) VALUES (?, ?, ?, '', '')",
  )
  const ring = ['group:ring-2', 'group:ring-1', 'group:ring-1'] as const
  await db.commit([{ query: insert, params: ring }])
  assert.deepEqual(await readKinds('alice', 'nora', kid, 'encrypt'), ['true', 'group'])
  assert.deepEqual(await readKinds('alice', 'omar', kid, 'encrypt'), ['false', 'no_grant'])
})

test("officers can ask about other users' keys, which the audit log marks", async () => {
  const kid = await makeKey(strict)
  await grant(strict, onKey(kid, 'bob', 'encrypt', 'get'))
  const asked = (by: string, user: string, operation: string) => readKinds(by, user, kid, operation, strict)
  assert.deepEqual(await asked('olga', 'bob', 'encrypt'), ['true', 'direct'])
  const record = strict.audit.findLast(({ operation }) => operation === 'access.explain')
  assert.deepEqual(
    [record?.object, record?.details],
    [kid, { user: 'bob', operation: 'encrypt', marker: 'CRYPTO_OFFICER_ACCESS' }],
  )
  assert.deepEqual(await asked('olga', 'otto', 'destroy'), ['true', 'officer'])
  assert.deepEqual(await asked('otto', 'otto', 'encrypt'), ['false', 'no_grant'])
  assert.deepEqual(await asked('alice', 'bob', 'get'), ['false', 'direct', 'approval'])
  assert.match((await explain('alice', 'bob', kid, 'get', strict)).json.step, /approval/)
  assert.equal((await explain('olga', 'bob', noKey, 'encrypt', strict)).status, 404)
})
