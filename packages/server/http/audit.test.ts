import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPreparedCommits, preparedCommitMigrations } from '@warder/audit'
import { failure } from '@warder/base'
import {
  type Commit,
  change,
  leaseMigrations,
  migrate,
  OutcomeUnknown,
  openSqlite,
  query,
} from '@warder/storage'
import { defineOperation, get, post } from '../operations/define.ts'
import { live, testAudit } from './fixtures/live.ts'
import { rawReply } from './reply.ts'

const define = defineOperation<undefined>()
const write = define({
  name: 'test.write',
  route: post('/write'),
  summary: 'Writes twice',
  tag: 'test',
  access: { name: 'signed in' },
  reach: [],
  async act(_input, { commit, audit }) {
    audit({ object: 'k1', details: { a: 1 } })
    await commit([])
    await commit([])
    return { done: true }
  },
})
const read = define({
  name: 'test.read',
  route: get('/read'),
  summary: 'Reads',
  tag: 'test',
  access: {
    name: 'alice only',
    check(_input, { principal }) {
      if (principal?.name !== 'alice') throw failure('forbidden')
    },
  },
  reach: [],
  act: () => ({ ok: true }),
})
const late = define({
  name: 'test.late',
  route: post('/late'),
  summary: 'Fails after its commit',
  tag: 'test',
  access: { name: 'signed in' },
  reach: [],
  async act(_input, { commit }) {
    await commit([])
    return rawReply({ status: 202, json: {} })
  },
})
const quiet = define({ ...read, name: 'test.quiet', route: get('/quiet'), audited: false } as never)
const base = {
  services: undefined,
  operations: [write, read, late, quiet],
  authenticate: (request: { readonly headers: Readonly<Record<string, string | undefined>> }) => {
    const name = request.headers.authorization
    return name === undefined ? undefined : { name, method: 'jwt', realm: 'r1' }
  },
}
const alice = { headers: { authorization: 'alice' } }

test('each audited request leaves one record, refused and unmatched ones too', async () => {
  const audit = testAudit('continue')
  await using server = await live({ ...base, audit })
  await server.call('GET', '/read', alice)
  await server.call('GET', '/read', { headers: { authorization: 'bob' } })
  await server.call('GET', '/read')
  await server.call('GET', '/nowhere')
  await server.call('GET', '/quiet', alice)
  const told = audit.events.map((event) => [
    event.operation,
    event.principal,
    event.status,
    event.outcome,
    event.reason,
  ])
  assert.deepEqual(told, [
    ['test.read', 'alice', 200, 'success', undefined],
    ['test.read', 'bob', 403, 'failure', 'forbidden'],
    ['test.read', 'unauthenticated', 401, 'failure', 'unauthorized'],
    ['http.unmatched', 'unauthenticated', 404, 'failure', 'not_found'],
  ])
  assert.equal(audit.events[0]?.realm, 'r1')
  assert.equal(audit.events[0]?.client_ip, '127.0.0.1')
})

test('reject: the record is on disk before the first commit, and there is one for several commits', async () => {
  const order: string[] = []
  const audit = testAudit('reject', order)
  const commit: Commit = async () => {
    order.push('committed')
    return []
  }
  await using server = await live({ ...base, audit, commit })
  assert.equal((await server.call('POST', '/write', alice)).status, 200)
  assert.deepEqual(order, ['recorded 200', 'committed', 'committed'])
  assert.equal(audit.events[0]?.object, 'k1')
})

test('reject: when the record cannot be written nothing is committed and the caller gets 503', async () => {
  const audit = testAudit('reject')
  audit.broken = true
  let commits = 0
  const commit: Commit = async () => {
    commits++
    return []
  }
  await using server = await live({ ...base, audit, commit })
  for (const [method, path] of [
    ['POST', '/write'],
    ['GET', '/read'],
    ['GET', '/nowhere'],
  ] as const) {
    const answer = await server.call(method, path, alice)
    assert.equal(answer.status, 503, path)
    assert.equal(answer.json.error, 'audit_unavailable')
  }
  assert.equal((await server.call('GET', '/quiet', alice)).status, 200)
  assert.equal(commits, 0)
})

test('reject: a commit that fails after its record is followed by a second record', async () => {
  const audit = testAudit('reject')
  const commit: Commit = async () => {
    throw failure('conflict')
  }
  await using server = await live({ ...base, audit, commit })
  assert.equal((await server.call('POST', '/write', alice)).status, 409)
  assert.deepEqual(
    audit.events.map((event) => [event.status, event.outcome, event.details]),
    [
      [200, 'success', { a: 1 }],
      [409, 'failure', { a: 1, follows: 'uncommitted' }],
    ],
  )
})

test('reject: a commit whose answer was lost is recorded as neither done nor undone', async () => {
  const audit = testAudit('reject')
  const commit: Commit = async () => {
    throw new OutcomeUnknown('lost')
  }
  await using server = await live({ ...base, audit, commit })
  assert.equal((await server.call('POST', '/write', alice)).status, 503)
  assert.deepEqual(
    audit.events.map((event) => [event.status, event.details?.follows]),
    [
      [200, undefined],
      [503, 'unknown'],
    ],
  )
})

test('reject: a final status other than the recorded one is recorded too', async () => {
  const audit = testAudit('reject')
  await using server = await live({ ...base, audit })
  assert.equal((await server.call('POST', '/late', alice)).status, 202)
  assert.deepEqual(
    audit.events.map((event) => [event.status, event.details?.follows]),
    [
      [200, undefined],
      [202, 'committed'],
    ],
  )
})

test('reject: a record that comes before its commit names it, and so does the one that takes it back', async () => {
  const db = openSqlite({ path: ':memory:' })
  await migrate(db, 'audit', preparedCommitMigrations)
  await migrate(db, 'lease', leaseMigrations)
  const audit = { ...testAudit('reject'), commits: createPreparedCommits(db) }
  let fails = false
  const commit: Commit = (changes) =>
    db.commit(fails ? [change(query("DELETE FROM lease WHERE name = 'none'"), [], 1), ...changes] : changes)
  await using server = await live({ ...base, audit, commit })
  assert.equal((await server.call('POST', '/write', alice)).status, 200)
  fails = true
  assert.equal((await server.call('POST', '/write', alice)).status, 500)
  const [done, announced, takenBack] = audit.events.map(({ details }) => details)
  assert.match(String(done?.commit), /^[0-9a-f]{16}-1$/)
  assert.match(String(announced?.commit), /-2$/)
  assert.deepEqual(takenBack, { a: 1, follows: 'uncommitted', commit: announced?.commit })
  const rows = await db.all(query<[], { number: number }>('SELECT number FROM audit_commit'), [])
  assert.deepEqual(
    rows.map(({ number }) => number),
    [1],
    'in the same transaction as the change',
  )
  await db.close()
})
