import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { adoptPolicy, budgetMark, budgetsToLookAt, maxInvocations } from '@warder/keys'
import { createMetrics } from '@warder/runtime'
import { change, type Database, query, StorageUnavailable } from '@warder/storage'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { type Started, type StartOptions, startKms } from '../testing/start.ts'
import { type Notice, webhookReceiver } from '../testing/webhook.ts'
import { objectMetrics } from './key-metrics.ts'
import { kmsService } from './service.ts'

const hour = 3_600_000
const day = 24 * hour
const limit = 2 ** 31
const soon = Math.ceil(limit * 0.9)
const ending = Math.ceil(maxInvocations * 0.9)

async function look({ environment }: Pick<Started, 'environment'>): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms rotations of keys')
  if (await job?.due?.(environment)) await job?.run(environment)
}

const setUsed = query<[number, string], unknown>('UPDATE gcm_budget SET reserved = ? WHERE object_id = ?')

/** Operations on keys of alice; `node` may be any of several. */
function hands(node: Started) {
  const alice = () => node.user('alice')
  const address = (kid: string) => `/v1/crypto/keys/${kid}`
  const read = async (kid: string) => (await alice().get(`${address(kid)}/rotation`)).json
  return {
    alice,
    read,
    make: async (tags: readonly string[] = []) =>
      String((await alice().post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags })).json.kid),
    version: async (kid: string) => (await alice().get(address(kid))).json.version,
    set: (kid: string, json: object) => alice().call('PUT', `${address(kid)}/rotation`, { json }),
    encrypt: (kid: string) =>
      alice().post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGk' }),
    verb: (kid: string, verb: string) => alice().post(`${address(kid)}/${verb}`, {}),
    /** Lets the newest version have encrypted so often. */
    async use(kid: string, messages: number) {
      const newest = (await alice().get(`${address(kid)}/versions`)).json.versions[0].kid
      await node.environment.db.commit([change(setUsed, [messages, newest], 1)])
    },
  }
}

async function world(policy: readonly string[], options: StartOptions = {}) {
  const time = { now: Date.UTC(2026, 5, 1) }
  const { told, outbound, config: webhook } = webhookReceiver()
  const kms = await startKms({
    clock: { now: () => time.now, monotonic: () => time.now },
    outbound,
    ...options,
    config: { ...webhook, 'rotation.policy': policy, ...options.config },
  })
  return { kms, time, told, ...hands(kms) }
}

for (const engine of await bothEngines()) {
  test(`${engine.name}: one of two nodes announces a rotation by use and the end of a message limit, once per version`, {
    skip: engine.skip,
  }, async () => {
    const time = { now: Date.UTC(2026, 5, 1) }
    const clock = { now: () => time.now, monotonic: () => time.now }
    const { told, outbound, config: webhook } = webhookReceiver()
    const policy = [`tag=payments, after_messages=${limit}`]
    await using nodes = await startTwoNodes(
      engine,
      { ...webhook, 'rotation.policy': policy },
      { clock, outbound },
    )
    const both = () => Promise.all([look(nodes.near), look(nodes.far)])
    const { make, set, use, encrypt, version, verb } = hands(nodes.near)
    const [own, ruled, free, disabled] = [
      await make(),
      await make(['payments']),
      await make(),
      await make(['payments']),
    ]
    const kids = [own, ruled, free, disabled]
    await set(own, { rotate_after_messages: limit })
    for (const kid of kids) assert.equal((await encrypt(kid)).status, 200)
    await nodes.near.services.uses.flush()
    await verb(disabled, 'disable')
    for (const kid of [own, ruled, disabled]) await use(kid, soon - 1)
    await use(free, ending - 1)
    for (let turn = 0; turn < 2; turn += 1) await both()
    assert.deepEqual(told, [])
    for (const kid of [own, ruled, disabled]) await use(kid, soon)
    await use(free, ending)
    for (let turn = 0; turn < 3; turn += 1) await both()
    assert.deepEqual(
      told.map(({ event, key }) => `${event} ${key}`).sort(),
      [`budget.ending ${free}`, ...[own, ruled, disabled].map((kid) => `rotation.soon ${kid}`)].sort(),
    )
    const about = (kid: string) => told.find(({ key }) => key === kid) ?? ({} as Partial<Notice>)
    assert.deepEqual(
      [about(own), about(ruled)].map(
        ({ by, owner, messages, rotates_after_messages: after, used_by: users }) => [
          by,
          owner,
          messages,
          after,
          users,
        ],
      ),
      ['key', 'policy'].map((by) => [by, 'alice', soon, limit, ['alice']]),
    )
    assert.match(String(about(disabled).will_fail), /disabled/)
    const {
      messages,
      stops_at_messages: stops,
      used_by: users,
      what_to_do: advice,
      will_fail: no,
    } = about(free)
    assert.deepEqual([messages, stops, users, no], [ending, maxInvocations, ['alice'], undefined])
    assert.match(String(advice), /keys rotate KEY.*after_messages/)
    // Another version gets another notice. A key without a rule is not rotated.
    for (const kid of [own, ruled, disabled]) await use(kid, limit)
    await use(free, maxInvocations)
    for (let turn = 0; turn < 2; turn += 1) await both()
    assert.deepEqual(await Promise.all(kids.map(version)), [2, 2, 1, 1])
    await use(own, soon)
    for (let turn = 0; turn < 2; turn += 1) await both()
    assert.equal(told.filter(({ event, key }) => event === 'rotation.soon' && key === own).length, 2)
    assert.equal(told.filter(({ event }) => event === 'budget.ending').length, 1)
  })

  test(`${engine.name}: a refused commit sends no notice, and a kill after a commit sends none twice`, {
    skip: engine.skip,
  }, async () => {
    const db = await engine.open(await engine.url())
    const { kms, told, make, use } = await world([], { db, config: { cache_lease_ms: 0 } })
    await using _ = kms
    const through = (commit: Database['commit']) => ({
      environment: { ...kms.environment, db: { ...db, commit } },
    })
    const refused = through((changes) =>
      changes.some(({ query: { text } }) => text.startsWith('UPDATE gcm_budget'))
        ? Promise.reject(new StorageUnavailable('busy'))
        : db.commit(changes),
    )
    const killed = through(async (changes) => {
      const done = await db.commit(changes)
      if (changes.some(({ query: { text } }) => text.startsWith('UPDATE gcm_budget')))
        throw new StorageUnavailable('the process ended here')
      return done
    })
    const [one, other] = [await make(), await make()]
    await look(kms)
    await use(one, ending)
    await assert.rejects(look(refused), StorageUnavailable)
    assert.deepEqual(told, [])
    await look(kms)
    assert.deepEqual(
      told.map(({ event, key }) => [event, key]),
      [['budget.ending', one]],
    )
    await use(other, ending)
    await assert.rejects(look(killed), StorageUnavailable)
    for (let turn = 0; turn < 2; turn += 1) await look(kms)
    assert.equal(told.length, 1)
  })

  test(`${engine.name}: keys that cannot be rotated or were announced do not hide others`, {
    skip: engine.skip,
  }, async () => {
    const db = await engine.open(await engine.url())
    const { kms, time, told, make, use, verb, version } = await world(
      [`algorithm=AES, after_messages=${limit}`],
      { db, config: { cache_lease_ms: 0 } },
    )
    await using _ = kms
    const [stuck, announced, good] = [await make(), await make(), await make()]
    await verb(stuck, 'disable')
    await use(stuck, limit + 1000)
    await use(announced, soon + 1000)
    await copies(db, stuck, many)
    await copies(db, announced, many)
    await use(good, limit)
    const failures = () =>
      kms.audit.filter(
        ({ operation, outcome }) => operation === 'crypto.keys.rotation' && outcome === 'failure',
      ).length
    await look(kms)
    assert.equal(await version(good), 2)
    assert.deepEqual(
      [failures(), told.filter(({ event }) => event === 'rotation.soon').length],
      [many + 1, Math.min(many + 1, mostWaiting)],
    )
    await look(kms)
    assert.equal(failures(), many + 1)
    assert.deepEqual(await budgetsToLookAt(db, time.now, 1), [])
    time.now += hour
    assert.equal((await budgetsToLookAt(db, time.now, 10_000)).length, many + 1)
  })
}

/** More than one page of a look. */
const many = 520
/** Notices that wait at one time (`notices.ts`); the log has all. */
const mostWaiting = 1000

const columnsOf = query<[string], Record<string, unknown>>('SELECT * FROM managed_object WHERE id = ?')

/** So many other keys that are as this one is, except for their ids. */
async function copies(db: Database, kid: string, count: number): Promise<void> {
  const row = (await db.get(columnsOf, [kid])) ?? {}
  const names = Object.keys(row).filter((name) => name !== 'id')
  const copy = query<[string, string], unknown>(
    `INSERT INTO managed_object (id, ${names.join(', ')}) SELECT CAST(? AS TEXT), ${names.join(', ')} FROM managed_object WHERE id = ?`,
  )
  const budget = query<[string, string], unknown>(
    'INSERT INTO gcm_budget (object_id, reserved) SELECT CAST(? AS TEXT), reserved FROM gcm_budget WHERE object_id = ?',
  )
  const ids = Array.from({ length: count }, () => randomUUID())
  await db.commit(ids.flatMap((id) => [change(copy, [id, kid], 1), change(budget, [id, kid], 1)]))
}

test("the next scan applies a new tag, another rule, the owner's number, and the re-enabling of a key", async () => {
  const { kms, told, alice, make, use, version, verb, set } = await world([
    `tag=payments, after_messages=${limit}`,
  ])
  await using _ = kms
  const [tagged, own, disabled, ruled] = [await make(), await make(), await make(['payments']), await make()]
  await verb(disabled, 'disable')
  for (const kid of [tagged, own, disabled, ruled]) await use(kid, limit)
  const versions = () => Promise.all([tagged, own, disabled, ruled].map(version))
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.deepEqual(await versions(), [1, 1, 1, 1])
  await alice().post(`/v1/crypto/keys/${tagged}/tags`, { tags: ['payments'] })
  await look(kms)
  assert.deepEqual(await versions(), [2, 1, 1, 1])
  await set(own, { rotate_after_messages: 3_000_000_000 })
  await look(kms)
  await set(own, { rotate_after_messages: limit })
  await look(kms)
  assert.deepEqual(await versions(), [2, 2, 1, 1])
  await verb(disabled, 'enable')
  await look(kms)
  assert.deepEqual(await versions(), [2, 2, 2, 1])
  const config = { ...kms.environment.config, 'rotation.policy': [`algorithm=AES, after_messages=${limit}`] }
  await look({ environment: { ...kms.environment, config } })
  assert.deepEqual(await versions(), [2, 2, 2, 2])
  assert.deepEqual(
    told.filter(({ event }) => event === 'rotation.soon'),
    [],
  )
})

test('few messages rotate each version after them, without notices', async () => {
  const { kms, told, make, use, encrypt, version, set } = await world([])
  await using _ = kms
  const kid = await make()
  // The first block of a process has 1024.
  await set(kid, { rotate_after_messages: 1000 })
  for (const next of [2, 3, 4]) {
    await look(kms)
    assert.equal(await version(kid), next - 1)
    assert.equal((await encrypt(kid)).status, 200)
    await look(kms)
    assert.equal(await version(kid), next)
  }
  const fewer = await make()
  await set(fewer, { rotate_after_messages: 1_000_000 })
  for (const messages of [950_000, 1_000_000]) {
    await use(fewer, messages)
    for (let turn = 0; turn < 2; turn += 1) await look(kms)
  }
  assert.equal(await version(fewer), 2)
  assert.deepEqual([...new Set(told.map(({ event }) => event))], ['rotation.done'])
})

test('a destroyed key is neither rotated nor announced', async () => {
  const { kms, told, make, use, verb, version } = await world([`tag=payments, after_messages=${limit}`])
  await using _ = kms
  const [ruled, free] = [await make(['payments']), await make()]
  for (const kid of [ruled, free])
    assert.equal((await verb(kid, 'versions/1/revoke')).json.state, 'Deactivated')
  await use(ruled, limit)
  await use(free, ending)
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.deepEqual([await version(ruled), await version(free), told], [1, 1, []])
})

test('a changed policy scans the most used keys first', async () => {
  const { kms, time, make, use } = await world([])
  await using _ = kms
  const { db } = kms.environment
  const [much, little] = [await make(), await make()]
  await use(much, limit)
  await use(little, 1000)
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.deepEqual(await budgetsToLookAt(db, time.now, 10), [])
  await adoptPolicy(db, 'another one')
  const found = await budgetsToLookAt(db, time.now, 10)
  assert.deepEqual(
    found.map(({ id }) => id),
    [much],
  )
})

test('notice_days = 0 announces no rotation, only the end of a message limit; the gauge shows it until the rotation', async () => {
  const metrics = createMetrics()
  const time = { now: Date.UTC(2026, 5, 1) }
  const { kms, told, make, encrypt, use, set, verb, read } = await world([], {
    metrics,
    clock: { now: () => time.now, monotonic: () => time.now },
    config: { 'rotation.notice_days': 0 },
  })
  await using _ = kms
  objectMetrics(kms.environment)
  const gauge = async () => {
    time.now += 2 * 60_000
    return /warder_keys_budget_ending (\d+)/.exec(await metrics.exposition())?.[1]
  }
  const [own, free] = [await make(), await make()]
  await set(own, { rotate_after_messages: limit })
  await use(own, soon)
  await use(free, maxInvocations)
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.deepEqual(
    told.map(({ event, key }) => [event, key]),
    [['budget.ending', free]],
  )
  assert.equal(await gauge(), '1')
  // One that a rule rotates soon is none of them, unless it was to be rotated long ago.
  await set(own, { rotate_after_messages: 4e9 })
  await use(own, ending + 1)
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.equal(await gauge(), '1')
  await use(own, 4.2e9)
  assert.equal(await gauge(), '2')
  await look(kms)
  assert.match(await metrics.exposition(), /warder_key_rotations_total\{outcome="budget_ending"\} 1/)
  assert.equal((await read(free)).messages, maxInvocations)
  const refused = await encrypt(free)
  assert.equal(refused.status, 422)
  assert.match(refused.json.description, /2\^32 messages.*keys rotate KEY/)
  assert.equal((await verb(free, 'rotate')).status, 200)
  assert.equal((await encrypt(free)).status, 200)
  assert.equal(await gauge(), '0')
  assert.equal((await read(free)).messages, 1024)
})

test('a key whose rotation is refused also warns of the end of its message limit', async () => {
  const { kms, told, make, use, verb } = await world([`algorithm=AES, after_messages=${4e9}`])
  await using _ = kms
  const kid = await make()
  await verb(kid, 'disable')
  await use(kid, 4e9)
  for (let turn = 0; turn < 3; turn += 1) await look(kms)
  assert.deepEqual(
    told.map(({ event }) => event),
    ['rotation.failed', 'budget.ending'],
  )
  assert.match(String(told[1]?.will_fail), /disabled/)
  assert.match(String(told[1]?.what_to_do), /cannot be rotated/)
})

test('keys that a fast clock postponed are scanned when the clock is right again', async () => {
  const { kms, time, make, use, verb } = await world([`algorithm=AES, after_messages=${limit}`])
  await using _ = kms
  const kid = await make()
  await verb(kid, 'disable')
  await use(kid, limit)
  const failures = () =>
    kms.audit.filter(
      ({ operation, outcome }) => operation === 'crypto.keys.rotation' && outcome === 'failure',
    ).length
  time.now += 400 * day
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.equal(failures(), 1)
  time.now -= 400 * day
  assert.equal((await budgetsToLookAt(kms.environment.db, time.now, 1)).length, 1)
})

test("a scan that began before the owner's change stores nothing", async () => {
  const { kms, time, make, use, set } = await world([])
  await using _ = kms
  const { db } = kms.environment
  const kid = await make()
  for (const number of [limit, 1_000_000]) {
    await set(kid, { rotate_after_messages: number })
    await use(kid, 900)
    const [before] = await budgetsToLookAt(db, time.now, 1)
    assert.equal(before?.id, kid)
    await set(kid, { rotate_after_messages: number + 1 })
    await db.commit([budgetMark(before, { lookFrom: maxInvocations + 1 })])
    assert.equal((await budgetsToLookAt(db, time.now, 1))[0]?.id, kid)
  }
})
