import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  type AuditEvent,
  type AuditTrail,
  openAuditLog,
  preparedCommitMigrations,
  rememberNode,
} from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { addRestoreToRightsJournal, endName } from '@warder/keys'
import { readRightsJournal } from '@warder/keys/testing'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import { restoreDatabase, toDatabaseLocation } from '@warder/runtime/launch'
import {
  commitCountMigrations,
  type Database,
  migrate,
  openSqliteSnapshot,
  query,
  readSchema,
} from '@warder/storage'
import fc from 'fast-check'
import { kmsService } from '../service/service.ts'
import type { Caller } from '../testing/client.ts'
import { bothEngines } from '../testing/engines.ts'
import { type Started, startKms } from '../testing/start.ts'

interface Row {
  readonly user_id: string
  readonly unique_identifier: string
  readonly last_used?: string
}

/** The log that the service reads, opened for writing. */
async function openLog(kms: Started) {
  const { environment: node, home } = kms
  return openAuditLog({
    ...{ folder: join(home, 'audit', 'kms'), service: 'kms', mode: 'continue', node: node.node },
    ...{ rotateBytes: 1_000_000, clock: systemClock, log: quietLog, seal: node.seal },
  })
}

const work = kmsService.periodic.find(({ name }) => name === 'kms changes of rights') ?? assert.fail()

/** A node does this every few seconds. */
async function record(kms: Started, audit?: AuditTrail): Promise<void> {
  if ((await work.due?.(kms.environment)) === false) return
  if (audit !== undefined) return work.run({ ...kms.environment, audit })
  const log = await openLog(kms)
  await work.run({ ...kms.environment, audit: log.trail })
  await log.trail.flush()
  await log.whenIdle()
  await log.close()
}

async function readReport(by: Caller, query = '', limit = 1000): Promise<readonly Row[]> {
  const rows: Row[] = []
  let next: string | undefined
  do {
    const from = next === undefined ? '' : `&after=${next}`
    const page = await by.get(`/access/report?limit=${limit}${query}${from}`)
    assert.equal(page.status, 200, page.text)
    rows.push(...page.json)
    next = page.headers['x-next-after'] as string | undefined
  } while (next !== undefined)
  return rows.map(({ last_used: _, ...row }) => row)
}

/** Returns a time after all changes so far, and before all later ones. */
async function takeTime(): Promise<string> {
  const pass = async (): Promise<number> => {
    const before = Date.now()
    while (Date.now() <= before + 1) await setImmediate()
    return Date.now()
  }
  const time = await pass()
  await pass()
  return new Date(time).toISOString()
}

const asOf = (time: string): string => `&as_of=${encodeURIComponent(time)}`

const users = ['alice', 'bob', 'carol']
const groups = ['ops', 'dev', 'all']
const tags = ['prod', 'eu']
const grantees = [...users, 'app:web-1', '*', 'group:ops', 'group:dev', 'group:all', 'role:corp/dev']
const rights = ['encrypt', 'decrypt', 'sign', 'get', 'UseKey']
const members = [...users, 'app:web-*', 'dora', 'group:ops', 'group:dev']

const user = fc.constantFrom(...users)
const some = (of: readonly string[], minLength: number) => fc.subarray([...of], { minLength })
const grantOf = { grantee: fc.constantFrom(...grantees), rights: some(rights, 1) }
const key = fc.nat(30)

type Step =
  | { readonly type: 'create'; readonly by: string; readonly tags: readonly string[]; readonly pair: boolean }
  | {
      readonly type: 'grant' | 'revoke'
      readonly key: number
      readonly grantee: string
      readonly rights: readonly string[]
    }
  | {
      readonly type: 'tag_grant' | 'tag_revoke'
      readonly by: string
      readonly tag: string
      readonly grantee: string
      readonly rights: readonly string[]
    }
  | { readonly type: 'tag' | 'untag'; readonly key: number; readonly tags: readonly string[] }
  | { readonly type: 'group'; readonly name: string; readonly members: readonly string[] }
  | { readonly type: 'no_group'; readonly name: string }
  | { readonly type: 'transfer'; readonly from: string; readonly to: string }
  | { readonly type: 'delete' | 'destroy' | 'rotate' | 'rekey'; readonly key: number }
  | { readonly type: 'end'; readonly by: string }
  | { readonly type: 'record' | 'look' }

const oneStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('create' as const),
      by: user,
      tags: some(tags, 0),
      pair: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constantFrom('grant' as const, 'revoke' as const), key, ...grantOf }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('tag_grant' as const, 'tag_revoke' as const),
      by: user,
      tag: fc.constantFrom(...tags),
      ...grantOf,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('tag' as const, 'untag' as const),
      key,
      tags: some(tags, 1),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('group' as const),
      name: fc.constantFrom(...groups),
      members: some(members, 0),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('no_group' as const), name: fc.constantFrom(...groups) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('transfer' as const), from: user, to: user }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('delete' as const, 'destroy' as const, 'rotate' as const, 'rekey' as const),
      key,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('end' as const), by: user }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('record' as const, 'look' as const) }) },
)

/** Plays a history over REST and KMIP; steps that the service refuses change nothing. */
class History {
  readonly kms: Started
  readonly db: Database
  readonly keys: { readonly id: string }[] = []
  readonly done = new Map<string, number>()
  readonly looks: { readonly time: string; readonly rows: readonly Row[] }[] = []
  #ends = 0

  constructor(kms: Started, db: Database) {
    this.kms = kms
    this.db = db
  }

  async owner(id: string): Promise<string> {
    const row = await this.db.get(
      query<[id: string], { readonly owner: string }>('SELECT owner FROM managed_object WHERE id = ?'),
      [id],
    )
    return row?.owner ?? 'alice'
  }

  async play(step: Step): Promise<void> {
    const { kms } = this
    const post = async (by: string, path: string, body: object) =>
      (await kms.user(by).post(path, body)).status < 300
    const wanted = 'key' in step ? this.keys[step.key % Math.max(1, this.keys.length)] : undefined
    if ('key' in step && wanted === undefined) return
    const id = wanted?.id ?? ''
    const by = 'by' in step ? step.by : await this.owner(id)
    const perform = async (): Promise<boolean> => {
      switch (step.type) {
        case 'create': {
          const kind = step.pair ? { kty: 'EC', crv: 'P-256', alg: 'ES256' } : { kty: 'oct', alg: 'A256GCM' }
          const made = await kms.user(by).post('/v1/crypto/keys', { ...kind, tags: step.tags })
          if (made.status < 300) this.keys.push({ id: made.json.kid })
          return made.status < 300
        }
        case 'grant':
        case 'revoke':
          return post(by, `/access/${step.type}`, {
            unique_identifier: id,
            user_id: step.grantee,
            operation_types: step.rights,
          })
        case 'tag_grant':
        case 'tag_revoke':
          return post(by, `/access/${step.type.slice(4)}`, {
            tag: step.tag,
            user_id: step.grantee,
            operation_types: step.rights,
          })
        case 'tag':
          return post(by, `/v1/crypto/keys/${id}/tags`, { tags: step.tags })
        case 'untag': {
          const path = `/v1/crypto/keys/${id}/tags`
          return (await kms.user(by).call('DELETE', path, { json: { tags: step.tags } })).status < 300
        }
        case 'group': {
          const json = { members: step.members, owners: ['admin'] }
          return (await kms.user('admin').call('PUT', `/access/groups/${step.name}`, { json })).status < 300
        }
        case 'no_group':
          return (await kms.user('admin').del(`/access/groups/${step.name}`)).status < 300
        case 'transfer':
          return post('admin', '/access/transfer', { from_user_id: step.from, to_user_id: step.to })
        case 'delete':
          return (await kms.user(by).del(`/v1/crypto/keys/${id}`)).status < 300
        case 'rotate':
          return post(by, `/v1/crypto/keys/${id}/rotate`, {})
        case 'destroy':
        case 'rekey': {
          const operation = step.type === 'destroy' ? 'Destroy' : 'ReKey'
          const reply = await kmipClient(kms.user(by))
            .do(operation, [uid(id)])
            .catch(() => undefined)
          if (reply !== undefined && operation === 'ReKey') this.keys.push({ id: reply.id })
          return reply !== undefined
        }
        case 'end': {
          this.#ends += 1
          const parts = { db: this.db, commit: this.db.commit, now: () => Date.now() }
          return (await endName(parts, by, `subject-${this.#ends}`)) !== undefined
        }
        case 'record':
          await record(kms)
          return true
        case 'look': {
          const time = await takeTime()
          this.looks.push({ time, rows: await readReport(kms.user('admin')) })
          await takeTime()
          return true
        }
      }
    }
    if (await perform()) this.done.set(step.type, (this.done.get(step.type) ?? 0) + 1)
  }
}

const engines = await bothEngines()

for (const engine of engines)
  test(`rights at a date are those of the report of that date, for random histories on ${engine.name}`, {
    skip: engine.skip,
  }, async (context) => {
    const db = await engine.open(await engine.url())
    await using kms = await startKms({ db })
    const history = new History(kms, db)
    const seed = process.env.WARDER_TEST_SEED === 'random' ? Date.now() : 20_261_128
    context.diagnostic(`seed ${seed}`)
    for (const step of fc.sample(oneStep, { seed, numRuns: 260 })) await history.play(step)
    for (const type of [
      'create',
      'grant',
      'revoke',
      'tag_grant',
      'tag',
      'untag',
      'group',
      'transfer',
      'rekey',
    ])
      assert.ok((history.done.get(type) ?? 0) > 0, `${type}: ${JSON.stringify([...history.done])}`)
    assert.ok(history.looks.length >= 8)
    const admin = kms.user('admin')
    const compare = async (when: string) => {
      for (const { time, rows } of history.looks)
        assert.deepEqual(await readReport(admin, asOf(time)), rows, `${when} ${time}`)
    }
    await compare('with changes that wait for the log')
    await record(kms)
    await compare('with all changes in the log')

    // Filters, pages and CSV read the same rows.
    const { time, rows } = history.looks[Math.floor(history.looks.length / 2)] ?? assert.fail()
    assert.deepEqual(await readReport(admin, asOf(time), 7), rows)
    for (const name of [...users, 'app:web-1', 'dora']) {
      const own = rows.filter(({ user_id }) => user_id === name)
      const found = await readReport(admin, `&user_id=${name}${asOf(time)}`)
      for (const row of own)
        assert.ok(
          found.some((one) => JSON.stringify(one) === JSON.stringify(row)),
          name,
        )
    }
    const ids = new Set(rows.map(({ unique_identifier: id }) => id).filter((id) => id !== '*'))
    assert.ok(ids.size > 3)
    for (const id of ids)
      assert.deepEqual(
        await readReport(admin, `&unique_identifier=${id}${asOf(time)}`),
        rows.filter(({ unique_identifier }) => unique_identifier === id),
      )
    const csv = await admin.get(`/access/report/csv?${asOf(time).slice(1)}`)
    assert.equal(csv.status, 200, csv.text)
    assert.equal(csv.text.trimEnd().split('\r\n').length, rows.length + 1)
  })

/** A key of alice's, with a grant to bob, and a later one to carol. @returns times after each, and the rows at them */
async function makeGrants(kms: Started, afterEach: () => Promise<void> = async () => undefined) {
  const [alice, admin] = [kms.user('alice'), kms.user('admin')]
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const looks: { readonly time: string; readonly rows: readonly Row[] }[] = []
  for (const user_id of ['bob', 'carol', 'dora']) {
    const grant = { unique_identifier: kid, user_id, operation_types: ['encrypt'] }
    assert.equal((await alice.post('/access/grant', grant)).status, 200)
    looks.push({ time: await takeTime(), rows: await readReport(admin) })
    await afterEach()
  }
  return { kid, looks }
}

for (const engine of engines)
  test(`rights at a date need the logs of the nodes that recorded changes since then, on ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const config = { outbound_ca_file: 'tls/ca.crt', database_url: url }
    const [one, other] = [await engine.open(url), await engine.open(url)]
    const rootKey = randomBytes(32)
    await migrate(one, 'audit', preparedCommitMigrations)
    await using near = await startKms({ db: one, rootKey, node: 'near', config })
    const far = await startKms({ db: other, rootKey, node: 'far', config })
    let isUp = true
    try {
      for (const [kms, node] of [
        [near, 'near'],
        [far, 'far'],
      ] as const) {
        const row = { log: `${node}:${kms.home}`, node, address: `https://localhost:${kms.port}` }
        await one.commit(rememberNode(row, Date.now(), near.environment.seal))
      }
      const recorders = [near, far, near]
      const { looks } = await makeGrants(near, () => record(recorders.shift() ?? near))
      const admin = near.user('admin')
      const ask = (time: string) => admin.get(`/access/report?${asOf(time).slice(1)}`)
      for (const { time, rows } of looks) assert.deepEqual(await readReport(admin, asOf(time)), rows)

      isUp = false
      await far[Symbol.asyncDispose]()
      // Other times are used, since the rights at these are kept for further pages.
      const earlier = (time: string) => new Date(Date.parse(time) - 1).toISOString()
      const [first, second, third] = looks.map(({ time }) => earlier(time))
      assert.deepEqual(await readReport(admin, asOf(third ?? '')), looks[2]?.rows)
      assert.deepEqual(await readReport(admin, asOf(second ?? '')), looks[1]?.rows, 'far recorded none since')
      const missing = await ask(first ?? '')
      assert.deepEqual([missing.status, missing.json.error], [502, 'bad_gateway'])
      assert.match(missing.json.description, /are not found, and these nodes do not answer: far\./)
      assert.equal((await admin.del('/v1/audit/nodes/far')).status, 204)
      const forgotten = await ask(first ?? '')
      assert.equal(forgotten.status, 409)
      assert.match(
        forgotten.json.description,
        /not found in the audit logs \(files .* a node was forgotten\)/,
      )
    } finally {
      if (isUp) await far[Symbol.asyncDispose]()
    }
  })

test('rights at a date are for crypto officers, for times since the journal began, and recorded', async () => {
  const began = Date.now()
  await using kms = await startKms()
  const { looks } = await makeGrants(kms)
  await record(kms)
  const time = looks[0]?.time ?? ''
  const ask = async (by: string, query: string, path = '/access/report') => {
    const { status, json, text } = await kms.user(by).get(`${path}?${query}`)
    return [status, status < 300 ? text : json.description] as const
  }
  for (const path of ['/access/report', '/access/report/csv']) {
    assert.deepEqual(await ask('alice', asOf(time).slice(1), path), [403, 'as_of is for crypto officers.'])
    assert.equal((await ask('admin', asOf(time).slice(1), path))[0], 200)
    for (const [query, said] of [
      ['as_of=', /as_of must be a time like/],
      ['as_of=2026-01-01', /as_of must be a time like/],
      ['as_of=2026-13-01T00:00:00Z', /as_of must be a time like/],
      [asOf(new Date(Date.now() + 60_000).toISOString()).slice(1), /as_of is in the future/],
      [
        asOf(new Date(began - 60_000).toISOString()).slice(1),
        /recorded since .*, so earlier rights are not known/,
      ],
    ] as const) {
      const [status, description] = await ask('admin', query, path)
      assert.equal(status, 400, query)
      assert.match(description, said)
    }
  }
  const entry = kms.audit.findLast(({ operation, status }) => operation === 'access.report' && status === 200)
  assert.deepEqual(entry?.details, { marker: 'CRYPTO_OFFICER_ACCESS', query: { as_of: time } })
  // A page does not wait until the rights at a time are computed; the computation continues.
  const { pastRights } = kms.services
  const other = Date.parse(time) + 1
  assert.equal(await pastRights.isReady(other, 0), false)
  while (!(await pastRights.isReady(other, 0))) await setImmediate()
  await assert.rejects(pastRights.isReady(Date.now() + 60_000, 10_000), /in the future/)
  // A cursor is valid only for its time.
  const page = await kms.user('admin').get(`/access/report?limit=1${asOf(time)}`)
  const after = String(page.headers['x-next-after'])
  for (const more of ['', asOf(looks[1]?.time ?? '')])
    assert.equal((await ask('admin', `after=${after}${more}`))[0], 400)
})

test('rights of a removed key, of a former owner and of a removed group are found at a date', async () => {
  await using kms = await startKms()
  const [alice, admin] = [kms.user('alice'), kms.user('admin')]
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  assert.equal((await alice.call('PUT', '/access/groups/ops', { json: { members: ['bob'] } })).status, 200)
  const grant = { unique_identifier: kid, user_id: 'group:ops', operation_types: ['decrypt'] }
  assert.equal((await alice.post('/access/grant', grant)).status, 200)
  const time = await takeTime()
  assert.equal((await alice.del('/access/groups/ops')).status, 204)
  const transfer = { from_user_id: 'alice', to_user_id: 'carol' }
  assert.equal((await admin.post('/access/transfer', transfer)).status, 200)
  assert.equal((await kms.user('carol').del(`/v1/crypto/keys/${kid}`)).status, 204)
  await record(kms)
  assert.deepEqual(await readReport(admin), [])
  const owner = { user_id: 'alice', unique_identifier: kid, owner_id: 'alice', right: '*', way: 'owner' }
  const member = { ...owner, user_id: 'bob', right: 'decrypt', way: 'group', granted_to: 'group:ops' }
  assert.deepEqual(await readReport(admin, asOf(time)), [owner, member])
  assert.deepEqual(await readReport(admin, `&unique_identifier=${kid}${asOf(time)}`), [owner, member])
  assert.deepEqual(await readReport(admin, `&user_id=bob${asOf(time)}`), [member])
  assert.deepEqual(await readReport(admin, `&user_id=bob&unique_identifier=${kid}${asOf(time)}`), [member])
  assert.deepEqual(await readReport(admin, `&user_id=carol${asOf(time)}`), [])
  assert.deepEqual(await readReport(admin, `&user_id=alice&unique_identifier=${kid}${asOf(time)}`), [owner])
})

test('rights between a backup and its restore are refused, earlier ones are known', async () => {
  const db = (await engines[0]?.open((await engines[0]?.url()) ?? '')) ?? assert.fail()
  await using kms = await startKms({ db })
  const { looks } = await makeGrants(kms)
  const [madeAt, between, restoredAt] = [await takeTime(), await takeTime(), await takeTime()]
  await db.commit([addRestoreToRightsJournal('a'.repeat(64), Date.parse(madeAt), Date.parse(restoredAt))])
  const end = await takeTime()
  const admin = kms.user('admin')
  for (const when of ['pending', 'recorded']) {
    for (const { time, rows } of looks) assert.deepEqual(await readReport(admin, asOf(time)), rows, when)
    const refused = await admin.get(`/access/report?${asOf(between).slice(1)}`)
    assert.equal(refused.status, 409)
    assert.match(refused.json.description, /was restored at .* from a backup of .* are not known/)
    assert.deepEqual(await readReport(admin, asOf(end)), looks.at(-1)?.rows)
    await record(kms)
  }
})

for (const engine of engines)
  test(`changes that wait for the log move with a database, and none is added, to ${engine.name}`, {
    skip: engine.skip,
  }, async () => {
    const sqlite = engines[0] ?? assert.fail()
    const url = await sqlite.url()
    const db = await sqlite.open(url)
    await migrate(db, 'commit count', commitCountMigrations)
    await using source = await startKms({ db })
    const { looks } = await makeGrants(source)
    const before = await readRightsJournal(db, 1000)
    assert.ok(before.pending.length > 3)
    const snapshot = openSqliteSnapshot(url.slice('sqlite:'.length))
    const schema = { migrations: await readSchema(db), commits: 1 }
    const target = await engine.url()
    const { home, config, seal } = source.environment
    const location = toDatabaseLocation({ ...config, database_url: target }, home, 'kms')
    if (location.kind === 'sqlite') writeFileSync(location.path, '')
    const service = { module: import.meta.resolve('@warder/kms'), exportName: 'kmsService' }
    const restore = await restoreDatabase(service, location, schema)
    for (const table of snapshot.tables) {
      await restore.begin(table)
      for await (const rows of snapshot.rows(table)) await restore.add(rows)
    }
    await restore.finish({ digest: 'd', madeAt: Date.now(), restoredAt: Date.now() })
    await restore.close()
    await snapshot.close()
    const moved = await engine.open(target)
    assert.deepEqual(await readRightsJournal(moved, 1000), before)
    await using kms = await startKms({ db: moved, seal, rootKey: randomBytes(32) })
    // More new changes than restored ones: the ids of new rows continue after those of the restored rows.
    const kid = String(before.pending[0]?.[2])
    for (let index = 0; index < 2 * before.pending.length; index += 1) {
      const grant = { unique_identifier: kid, user_id: `more-${index}`, operation_types: ['encrypt'] }
      assert.equal((await kms.user('alice').post('/access/grant', grant)).status, 200)
    }
    const admin = kms.user('admin')
    for (const { time, rows } of looks) assert.deepEqual(await readReport(admin, asOf(time)), rows)
    await record(kms)
    for (const { time, rows } of looks) assert.deepEqual(await readReport(admin, asOf(time)), rows)
  })

test('rights that the database changed without its journal are found', async () => {
  const db = (await engines[0]?.open((await engines[0]?.url()) ?? '')) ?? assert.fail()
  await using kms = await startKms({ db })
  const { kid, looks } = await makeGrants(kms)
  await record(kms)
  for (const text of [
    'DROP TRIGGER right_change_grant_delete',
    `DELETE FROM object_grant WHERE object_id = '${kid}' AND user_id = 'carol'`,
  ])
    await db.commit([{ query: query(text), params: [] }])
  const refused = await kms.user('admin').get(`/access/report?${asOf(looks[0]?.time ?? '').slice(1)}`)
  assert.equal(refused.status, 409)
  assert.match(refused.json.description, /do not follow from the audit log \(\+grant .* carol encrypt at /)
})

test('rights at a time over which the clock of the database went back are refused', async () => {
  const db = (await engines[0]?.open((await engines[0]?.url()) ?? '')) ?? assert.fail()
  await using kms = await startKms({ db })
  const { looks } = await makeGrants(kms)
  const [first, second, third] = looks.map(({ time }) => Date.parse(time))
  const end = await takeTime()
  // Simulates a clock that went back before the last grant, by less and by more than the duration of a commit.
  const admin = kms.user('admin')
  const move = (by: number) =>
    db.commit([
      {
        query: query<[number], unknown>(
          'UPDATE right_change SET at_ms = at_ms - ? WHERE id = (SELECT MAX(id) FROM right_change)',
        ) as never,
        params: [by],
      },
    ])
  const between = Number(first) + 1
  await move(Number(third) - Number(first) + 20)
  assert.deepEqual(await readReport(admin, asOf(end)), looks[2]?.rows)
  await move(120_000)
  for (const when of ['pending', 'recorded']) {
    const refused = await admin.get(`/access/report?${asOf(new Date(between).toISOString()).slice(1)}`)
    assert.equal(refused.status, 409, refused.text)
    assert.match(refused.json.description, /the clock of the database went back from .* to /)
    assert.ok(Number(second) > between)
    const after = new Date(Date.parse(end) + (when === 'pending' ? 1 : 2)).toISOString()
    assert.deepEqual(await readReport(admin, asOf(after)), looks[2]?.rows, when)
    await record(kms)
  }
})

/** The lines of a log with these events, oldest first. */
async function toLines(kms: Started, events: readonly AuditEvent[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-lines-'))
  try {
    const { seal } = kms.environment
    const log = await openAuditLog({
      ...{ folder, service: 'kms', mode: 'continue', node: 'liar', rotateBytes: 1e8 },
      ...{ clock: systemClock, log: quietLog, seal },
    })
    for (const event of events) log.trail.record(event)
    await log.trail.flush()
    await log.whenIdle()
    await log.close()
    const text = readFileSync(join(folder, 'audit-0000000000000001.jsonl'), 'utf8')
    return text.split('\n').filter((line) => line.includes('"operation":"access.rights_changed"'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a node that omits, changes, repeats or invents changes of rights causes a refusal, never another answer', {
  timeout: 120_000,
}, async () => {
  const engine = engines[0] ?? assert.fail()
  const url = await engine.url()
  const db = await engine.open(url)
  await migrate(db, 'audit', preparedCommitMigrations)
  const config = { outbound_ca_file: 'tls/ca.crt', database_url: url }
  await using kms = await startKms({ db, node: 'near', config })
  const [cert, tlsKey] = ['kms.crt', 'kms.key'].map((name) => readFileSync(join(kms.home, 'tls', name)))
  let answer = (_before: number): object => ({ lines: [], problems: [] })
  const liar = createServer({ cert, key: tlsKey }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { before } = JSON.parse(Buffer.concat(parts).toString())
      response.end(JSON.stringify({ problems: [], ...answer(before ?? Number.MAX_SAFE_INTEGER) }))
    })
  })
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = liar.address() as AddressInfo
    const row = { log: 'liar:/elsewhere', node: 'liar', address: `https://localhost:${port}` }
    await db.commit(rememberNode(row, Date.now(), kms.environment.seal))
    const own = { log: `near:${kms.home}`, node: 'near', address: '' }
    await db.commit(rememberNode(own, Date.now(), kms.environment.seal))
    // The compromised node has recorded all changes.
    const { looks } = await makeGrants(kms, () => record(kms, kms.environment.audit))
    const events = kms.audit.filter(({ operation }) => operation === 'access.rights_changed')
    assert.equal(events.length, 3)
    const { time, rows } = looks[0] ?? assert.fail()
    const start = Date.parse(time)
    let asked = 0
    const ask = () => {
      // Each request uses another moment with the same rights, since moments are kept.
      asked += 1
      const other = new Date(start + (asked % 2)).toISOString()
      return kms.user('admin').get(`/access/report?${asOf(other).slice(1)}`)
    }
    const serve = (lines: readonly string[]) => {
      answer = (before) => ({
        lines: lines.toReversed().filter((line) => JSON.parse(line).seq < before),
      })
    }
    const change = (index: number, details: (old: object) => object) =>
      events.map((event, at) =>
        at === index ? { ...event, details: { ...details(event.details ?? {}) } } : event,
      )
    const readChanges = (index: number) =>
      ((events[index] ?? assert.fail()).details as { changes: [number, ...string[]][] }).changes
    const forgedChanges = readChanges(2).map(([at, name, ...values]) => [
      at,
      name,
      ...values.with(1, 'mallory'),
    ])
    const inventedRecord = {
      prev: 'f'.repeat(64),
      prev_at: start,
      changes: [[start + 5000, '-grant', 'k', 'eve', 'get']],
    }
    const cases: readonly (readonly [string, readonly (AuditEvent | undefined)[], RegExp])[] = [
      ['the newest is omitted', events.slice(0, 2), /are not found in the audit logs/],
      ['one between is omitted', [events[0], events[2]], /are not found/],
      ['all are omitted', [], /are not found/],
      ['a grantee is changed', change(2, (old) => ({ ...old, changes: forgedChanges })), /are not found/],
      ['a change is left out', change(1, (old) => ({ ...old, changes: [] })), /are not found/],
      [
        'a record is cut',
        change(1, (old) => ({ ...old, changes: ['…[cut: 400 of 1000 members]'] })),
        /are not found/,
      ],
      ['details are of another form', change(2, () => ({ prev: 1, changes: 'none' })), /are not found/],
      [
        'changes are invented',
        [...events, { ...(events[2] ?? assert.fail()), details: inventedRecord }],
        /has changes of rights that the database does not have/,
      ],
    ]
    for (const [what, lied, said] of cases) {
      serve(
        await toLines(
          kms,
          lied.filter((one) => one !== undefined),
        ),
      )
      const reply = await ask()
      assert.equal(reply.status, 409, `${what}: ${reply.text}`)
      assert.match(reply.json.description, said, what)
    }
    // The node sends pages without end, each of which continues the search.
    answer = (before) => ({ lines: [], next: before - 1 })
    const endless = await ask()
    assert.equal(endless.status, 409)
    assert.match(endless.json.description, /does not come to an end/)
    // Repeated records, such as those after a crash between the record and its commit, change nothing.
    const [first, second, third] = events
    const again = [first, second, second, third, second, third].filter((one) => one !== undefined)
    serve(await toLines(kms, again))
    const { status, json, text } = await ask()
    assert.equal(status, 200, text)
    assert.deepEqual(json, rows)
  } finally {
    liar.closeAllConnections()
    liar.close()
  }
})
