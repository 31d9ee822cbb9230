import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { leaseMigrations, migrate, openSqlite, StorageUnavailable, writeProbe } from '@warder/storage'
import { live } from './fixtures/live.ts'
import { type HealthPart, healthOperation } from './health.ts'

interface Tried extends HealthPart {
  tries: number
  broken: boolean
  hangs: Promise<void> | undefined
}

function part(key: HealthPart['key'], name: string): Tried {
  const tried: Tried = {
    key,
    name,
    message: 'It does not work.',
    tries: 0,
    broken: false,
    hangs: undefined,
    async probe() {
      tried.tries += 1
      await tried.hangs
      if (tried.broken) throw new Error('password of db')
    },
  }
  return tried
}

const serve = (parts: readonly HealthPart[], clock: { ms: number }, timeoutMs = 2000) =>
  live({
    services: undefined,
    operations: [
      healthOperation<undefined>({
        parts,
        clock: { now: () => 0, monotonic: () => clock.ms },
        timeoutMs,
      }),
    ],
  })

test('health is 200 while everything works, and 503 with a fixed sentence for what does not', async () => {
  const clock = { ms: 0 }
  const [database, audit] = [part('database', 'sqlite'), part('audit', 'audit log')]
  await using server = await serve([database, audit], clock)
  const up = await server.call('GET', '/health')
  const dependencies = {
    database: { name: 'sqlite', status: 'UP' },
    audit: { name: 'audit log', status: 'UP' },
  }
  assert.deepEqual([up.status, up.json], [200, { status: 'UP', latency_ms: 0, dependencies }])
  const uncached = await server.call('GET', '/health?_=1764227158')
  assert.deepEqual([uncached.status, uncached.json], [200, up.json], 'parameters of a probe are ignored')
  audit.broken = true
  clock.ms = 1000
  const down = await server.call('GET', '/health')
  assert.deepEqual(
    [down.status, down.json.status, down.json.dependencies],
    [
      503,
      'DOWN',
      { ...dependencies, audit: { name: 'audit log', status: 'DOWN', message: 'It does not work.' } },
    ],
  )
  assert.doesNotMatch(down.text, /password/)
})

test('however many ask, the parts are tried once a second, and one trial at a time', async () => {
  const clock = { ms: 0 }
  const database = part('database', 'sqlite')
  await using server = await serve([database], clock)
  const ask = async (): Promise<number> => (await server.call('GET', '/health')).status
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 20 }, ask))), new Set([200]))
  clock.ms = 999
  database.broken = true
  assert.deepEqual([await ask(), database.tries], [200, 1])
  clock.ms = 1000
  assert.deepEqual([await ask(), await ask(), database.tries], [503, 503, 2])
})

test('a part that hangs is down, and is not tried again before it has answered', async () => {
  const clock = { ms: 0 }
  const database = part('database', 'sqlite')
  const end = Promise.withResolvers<void>()
  database.hangs = end.promise
  await using server = await serve([database], clock, 20)
  for (const ms of [0, 1000, 2000]) {
    clock.ms = ms
    assert.equal((await server.call('GET', '/health')).status, 503)
  }
  assert.equal(database.tries, 1)
  end.resolve()
  clock.ms = 3000
  assert.deepEqual([(await server.call('GET', '/health')).status, database.tries], [200, 2])
})

test('a database that is malformed is found by trying it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-health-'))
  const path = join(folder, 'kms.db')
  const before = openSqlite({ path })
  await migrate(before, 'lease', leaseMigrations)
  await writeProbe(before, 1)
  await writeProbe(before, 2)
  await before.close()
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0xff, 4096))
  const db = openSqlite({ path })
  await assert.rejects(writeProbe(db, 3), StorageUnavailable)
  await db.close()
  rmSync(folder, { recursive: true })
})
