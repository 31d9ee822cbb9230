import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { PrimaryMemory } from '../postgres/hosts.ts'
import { OutcomeUnknown, StorageUnavailable } from './errors.ts'
import { openPostgres } from './open-database.ts'
import { change, query } from './query.ts'
import { startTestPair } from './testing/pair.ts'
import type { Database } from './types.ts'

// One pair of servers for the whole file: the tests follow its life, from a primary with its standby to the primary of
// before that comes back (docs/adr/postgresql-failover.md).

const pair = await startTestPair()
const skip = 'missing' in pair ? pair.missing : false
const opened: Database[] = []
after(async () => {
  for (const db of opened) await db.close()
  if ('stop' in pair) await pair.stop()
})

interface Told {
  readonly level: 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
}
const told: Told[] = []

async function open(url: string, primary?: SharedArrayBuffer): Promise<Database> {
  const log = {
    warn: (fields: Told['fields']) => void told.push({ level: 'warn', fields }),
    error: (fields: Told['fields']) => void told.push({ level: 'error', fields }),
  }
  const db = await openPostgres({ url, log, primary })
  opened.push(db)
  return db
}

function servers() {
  assert.ok('primary' in pair)
  return pair
}

const until = async (what: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await what())) await setTimeout(10)
}

const table = query<[], unknown>('CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY)')
const insert = query<[string], unknown>('INSERT INTO thing (id) VALUES (?)')
const all = query<[], { readonly id: string }>('SELECT id FROM thing')
const readIds = async (db: Database) => new Set((await db.all(all, [])).map(({ id }) => id))
const put = (db: Database, id: string) => db.commit([change(insert, [id])])
const host = (port: number): string => `127.0.0.1:${port}`

/** Of the process whose connections go through the whole file, and what its threads know together. */
let db: Database
const ofProcess = PrimaryMemory.memory()

test('of several hosts the one that takes writes is found, in any order', { skip }, async () => {
  const { primary, standby, url } = servers()
  db = await open(url('postgres'), ofProcess)
  await db.commit([change(table, [])])
  const other = await open(
    `postgresql://postgres@${host(standby.port)},${host(primary.port)}/postgres?target_session_attrs=primary`,
    ofProcess,
  )
  await put(other, 'first')
  assert.deepEqual(await readIds(db), new Set(['first']))
  const alone = `${standby.url('postgres')}?target_session_attrs=read-write`
  await assert.rejects(open(alone), { name: 'StartupError', message: /127\.0\.0\.1:\d+ is a standby/ })
  assert.deepEqual(told, [])
})

test('a commit that was not confirmed by the standby is not acknowledged', { skip }, async () => {
  const { primary } = servers()
  const setSynchronousStandby = async (names: string): Promise<void> => {
    await primary.ask(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await primary.ask('SELECT pg_reload_conf()')
    await until(async () => {
      const [row] = await primary.ask<{ names: string }>(
        "SELECT current_setting('synchronous_standby_names') names",
      )
      return row?.names === names
    })
  }
  await setSynchronousStandby('nobody')
  const unconfirmed = assert.rejects(put(db, 'unconfirmed'), OutcomeUnknown)
  await until(async () => {
    const waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    return (await primary.ask(waiting)).length > 0
  })
  await unconfirmed
  await setSynchronousStandby('*')
  await put(db, 'confirmed')
})

const acknowledged = new Set(['first', 'confirmed'])

test('a failover under load loses no acknowledged commit, and goes on at the new primary', {
  skip,
  timeout: 60_000,
}, async () => {
  const { primary, standby, promote } = servers()
  let stopping = false
  let refused = 0
  const writer = async (name: number): Promise<void> => {
    for (let count = 0; !stopping; count += 1) {
      const id = `${name}-${count}`
      try {
        await put(db, id)
        acknowledged.add(id)
      } catch (error) {
        assert.ok(error instanceof StorageUnavailable, String(error))
        refused += 1
        await setTimeout(10)
      }
    }
  }
  const load = Promise.all(Array.from({ length: 8 }, (_, name) => writer(name)))
  await until(() => acknowledged.size > 200)
  await primary.kill()
  await until(() => refused > 8)
  await assert.rejects(async () => db.all(all, []), StorageUnavailable)
  await promote()
  const before = acknowledged.size
  await until(() => acknowledged.size > before + 100)
  stopping = true
  await load
  const there = new Set((await standby.ask<{ id: string }>('SELECT id FROM thing')).map(({ id }) => id))
  assert.deepEqual(
    [...acknowledged].filter((id) => !there.has(id)),
    [],
    'acknowledged and lost',
  )
  assert.ok([...(await readIds(db))].length >= acknowledged.size)
  assert.deepEqual(told, [{ level: 'warn', fields: { host: host(standby.port), from: 1, to: 2 } }])
})

test('a former primary that comes back is not written to, and is logged', { skip }, async () => {
  const { primary, standby, url } = servers()
  // It accepts writes again, since it does not know the other primary.
  await primary.start(['synchronous_standby_names='])
  told.length = 0
  const fresh = await open(url('postgres'))
  assert.deepEqual(told, [
    { level: 'error', fields: { used: host(standby.port), fence: host(primary.port) } },
  ])
  await put(fresh, 'after the failover')
  const others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'warder'"
  await standby.ask(others)
  await until(() =>
    put(db, `${Math.random()}`).then(
      () => true,
      () => false,
    ),
  )
  const [there] = await primary.ask<{ found: string }>(
    "SELECT count(*) AS found FROM thing WHERE id = 'after the failover' OR id LIKE '0.%'",
  )
  assert.equal(there?.found, '0')
  // Also when it is the only one that answers, for processes that have seen the other one.
  await standby.kill()
  for (const known of [db, fresh]) {
    // The connections of before fail first.
    await until(async () => {
      const error: unknown = await put(known, 'lost').catch((reason: unknown) => reason)
      assert.ok(error instanceof StorageUnavailable, `${error}`)
      return /on timeline 1, although timeline 2 exists/.test(error.detail ?? '')
    })
    await assert.rejects(async () => known.all(all, []), StorageUnavailable)
  }
  await standby.start()
  await until(() =>
    put(db, 'the end').then(
      () => true,
      () => false,
    ),
  )
})
