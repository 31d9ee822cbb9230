import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { OutcomeUnknown, StorageUnavailable } from './errors.ts'
import { openPostgres } from './open-database.ts'
import type { PostgresLimits } from './postgres.ts'
import { change, query } from './query.ts'
import { findUnsafeSettings } from './server-settings-store.ts'
import { startTestPostgres } from './testing/postgres.ts'
import type { Database } from './types.ts'

const server = await startTestPostgres()
const skip = 'missing' in server ? server.missing : false
const opened: Database[] = []
after(async () => {
  for (const db of opened) await db.close()
  if ('stop' in server) await server.stop()
})

async function newDatabase(): Promise<string> {
  assert.ok('database' in server)
  return server.database()
}

async function open(url: string, limits: Partial<PostgresLimits> = {}): Promise<Database> {
  const db = await openPostgres({ url, limits })
  opened.push(db)
  return db
}

/** A network in front of a database that can lose everything without a word. */
async function network(url: string) {
  let silent = false
  let losesAnswers = false
  let carried: { lost: boolean }[] = []
  const sockets = new Set<Socket>()
  const { hostname, port } = new URL(url)
  const proxy = createServer((near) => {
    const line = { lost: silent }
    carried.push(line)
    const server = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, server],
      [server, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (!line.lost) to.write(bytes)
        if (losesAnswers && from === near && bytes.includes('COMMIT')) line.lost = true
      })
      from.on('error', () => undefined)
      from.on('close', () => line.lost || to.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const here = new URL(url)
  here.port = String((proxy.address() as AddressInfo).port)
  return {
    url: here.href,
    /** From now on nothing comes through, on new connections either. */
    fallSilent() {
      silent = true
      for (const line of carried) line.lost = true
      carried = []
    },
    /** COMMIT comes through, and nothing after it. */
    loseAnswers() {
      losesAnswers = true
    },
    /** New connections are carried again; those from before stay silent. */
    recover() {
      silent = false
    },
    [Symbol.dispose]() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const table = query<[], unknown>('CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY)')
const insert = query<[string], unknown>('INSERT INTO thing (id) VALUES (?)')
const all = query<[], { id: string }>('SELECT id FROM thing ORDER BY id')
const sleep = query<[], unknown>('SELECT pg_sleep(20)')
const sleeping = query<[], { pid: number }>(
  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT pg_sleep(20)' AND wait_event = 'PgSleep'",
)
const cut = query<[pid: number], unknown>('SELECT pg_terminate_backend(?)')

const ids = async (db: Database): Promise<string[]> => (await db.all(all, [])).map(({ id }) => id)

test('a connection that is lost during a commit fails that commit and nothing else', { skip }, async () => {
  const url = await newDatabase()
  const [one, other] = [await open(url), await open(url)]
  await one.commit([change(table, [])])
  const lost = assert.rejects(one.commit([change(insert, ['a']), change(sleep, [])]), StorageUnavailable)
  let found: readonly { pid: number }[] = []
  while (found.length === 0) found = await other.all(sleeping, [])
  for (const { pid } of found) await other.all(cut, [pid])
  await lost
  // The end of the connection comes after the answer that names the reason.
  await new Promise((resolve) => setTimeout(resolve, 50))
  await one.commit([change(insert, ['b'])])
  assert.deepEqual(await ids(one), ['b'])
})

const short: Partial<PostgresLimits> = { statement: 500, answer: 600, connect: 600, feedCheck: 100 }
/** Far more than the limits together, far less than for ever. */
const withinMs = 5000

test('a database that falls silent is an unavailable one, and new connections are made when it is back', {
  skip,
  timeout: 30_000,
}, async () => {
  const url = await newDatabase()
  using between = await network(url)
  const [near, far] = [await open(between.url, short), await open(url)]
  await near.commit([change(table, [])])
  const until = async (heard: (key: string | undefined) => boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = near.watch('thing', (key) => heard(key) && resolve())
    const telling = setInterval(() => void far.commit([far.changed('thing', 'far')]), 20)
    await promise
    clearInterval(telling)
    stop()
  }
  await until((key) => key === 'far')
  const forgotten = new Promise<void>((resolve) =>
    near.watch('thing', (key) => key === undefined && resolve()),
  )
  between.fallSilent()
  const began = performance.now()
  await Promise.all([
    ...Array.from({ length: 4 }, () => assert.rejects(async () => near.all(all, []), StorageUnavailable)),
    ...Array.from({ length: 8 }, (_, index) =>
      assert.rejects(near.commit([change(insert, [`lost-${index}`])]), StorageUnavailable),
    ),
    assert.rejects(near.ping(), StorageUnavailable),
    forgotten,
  ])
  await assert.rejects(near.commit([change(insert, ['lost'])]), StorageUnavailable)
  await assert.rejects(async () => near.all(all, []), StorageUnavailable)
  assert.ok(performance.now() - began < withinMs)
  between.recover()
  await near.commit([change(insert, ['a'])])
  assert.deepEqual(await ids(near), ['a'])
  await until((key) => key === 'far')
})

test('closing a database that is silent comes to an end', { skip, timeout: 30_000 }, async () => {
  using between = await network(await newDatabase())
  const db = await openPostgres({ url: between.url, limits: short })
  await db.commit([change(table, [])])
  between.fallSilent()
  const began = performance.now()
  await db.close()
  assert.ok(performance.now() - began < withinMs)
})

test('a database that takes no writes is unavailable to commits, until a connection finds one that does', {
  skip,
}, async () => {
  const url = await newDatabase()
  const [one, other] = [await open(url), await open(url)]
  await one.commit([change(table, [])])
  const name = new URL(url).pathname.slice(1)
  const readOnly = (value: string) =>
    other.commit([
      change(query('SET TRANSACTION READ WRITE'), []),
      change(query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`), []),
    ])
  await readOnly('on')
  // The connection from before goes on as it was; those that wait for it get new ones.
  const commits = await Promise.allSettled(
    Array.from({ length: 4 }, (_, index) => one.commit([change(insert, [`${index}`])])),
  )
  const refused = commits.filter((commit) => commit.status === 'rejected')
  assert.ok(refused.length > 0)
  for (const { reason } of refused) assert.ok(reason instanceof StorageUnavailable, String(reason))
  await readOnly('off')
  await Promise.all(Array.from({ length: 6 }, (_, index) => one.commit([change(insert, [`after-${index}`])])))
})

test('a commit whose answer is lost may have been made, and says so', { skip, timeout: 30_000 }, async () => {
  const url = await newDatabase()
  using between = await network(url)
  const [near, far] = [await open(between.url, short), await open(url)]
  await near.commit([change(table, [])])
  between.loseAnswers()
  await assert.rejects(near.commit([change(insert, ['a'])]), OutcomeUnknown)
  assert.deepEqual(await ids(far), ['a'])
})

test('settings with which acknowledged changes are lost are told, with what they cost', {
  skip,
}, async () => {
  const url = await newDatabase()
  const listUnsafe = async (options: string): Promise<readonly string[]> =>
    (await findUnsafeSettings(await open(`${url}?options=${encodeURIComponent(options)}`))).map(
      ({ setting }) => setting,
    )
  // The server of the tests does without fsync; nothing can be said for it.
  const always = ['fsync = off', 'full_page_writes = off']
  assert.deepEqual([...(await listUnsafe(''))].sort(), always)
  assert.deepEqual([...(await listUnsafe('-c synchronous_commit=off'))].sort(), [
    ...always,
    'synchronous_commit = off',
  ])
  assert.deepEqual([...(await listUnsafe('-c synchronous_commit=remote_apply'))].sort(), always)
})
