import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Clock } from '@warder/base'
import { StorageUnavailable } from '../sql/errors.ts'
import { migrate } from '../sql/migrate.ts'
import { query } from '../sql/query.ts'
import { openSqlite } from '../sql/sqlite.ts'
import type { Database } from '../sql/types.ts'
import { type Seal, UnknownDataKey } from './envelope.ts'
import { loadRootKeys, type RootKey } from './root-key.ts'
import { rotateRootKeyFile } from './rotate.ts'
import { openSeal } from './seal.ts'
import { sealMigrations } from './seal-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-data-keys-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const place = { table: 'managed_object', row: 'a', column: 'material' }
const counts = query<[], { keys: number }>('SELECT COUNT(*) AS keys FROM data_key')
const day = 24 * 3600 * 1000

class HeldClock implements Clock {
  time = Date.UTC(2026, 0, 1)
  now = (): number => this.time
  monotonic = (): number => this.time
}

async function fixture(name: string) {
  const db = openSqlite({ path: join(folder, `${name}.db`) })
  await migrate(db, 'seal', sealMigrations)
  const path = join(folder, `${name}.key`)
  const clock = new HeldClock()
  const rootKeys = (): readonly RootKey[] => loadRootKeys({ kind: 'file', path }, {}, { create: true })
  const open = (sealsPerKey?: number): Promise<Seal> =>
    openSeal({
      db,
      rootKeys: rootKeys(),
      service: 'kms',
      clock,
      ...(sealsPerKey !== undefined && { sealsPerKey }),
    })
  const dataKeys = async (): Promise<number> => (await db.get(counts, []))?.keys ?? 0
  return { db, path, clock, open, dataKeys }
}

const text = async (seal: Seal, sealed: Uint8Array): Promise<string> =>
  Buffer.from(await seal.open(place, sealed)).toString()
const readKeyId = (sealed: Uint8Array): string => Buffer.from(sealed.subarray(1, 17)).toString('hex')

async function sealUntilNewKey(seal: Seal, db: Database, first: Uint8Array): Promise<Uint8Array> {
  for (let turn = 0; turn < 1000; turn += 1) {
    const sealed = seal.seal(place, Buffer.from(`value ${turn}`))
    if (readKeyId(sealed) !== readKeyId(first)) return sealed
    await db.ping()
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error('the data key was never changed')
}

test('a data key seals a bounded number of values; what older ones sealed still opens', async () => {
  const { db, open, dataKeys } = await fixture('bound')
  const seal = await open(3)
  const first = seal.seal(place, Buffer.from('first'))
  const later = await sealUntilNewKey(seal, db, first)
  assert.ok((await dataKeys()) >= 2)
  assert.equal(await text(seal, first), 'first')
  const other = await open()
  assert.equal(await text(other, first), 'first')
  assert.match(await text(other, later), /^value \d+$/)
  await db.close()
})

test('a start makes a new data key when the newest is a month old, and processes that start together make one', async () => {
  const { db, clock, open, dataKeys } = await fixture('age')
  const before = (await open()).seal(place, Buffer.from('before'))
  clock.time += 29 * day
  await open()
  assert.equal(await dataKeys(), 1)
  clock.time += 2 * day
  const [one, two] = await Promise.all([open(), open(), open()])
  assert.equal(await dataKeys(), 2)
  const sealed = one.seal(place, Buffer.from('after'))
  assert.notEqual(readKeyId(sealed), readKeyId(before))
  assert.equal(await text(two, sealed), 'after')
  assert.equal(await text(two, before), 'before')
  await db.close()
})

test('a running process finds the data key that another one made', async () => {
  const { db, clock, open } = await fixture('find')
  const running = await open()
  clock.time += 40 * day
  const sealed = (await open()).seal(place, Buffer.from('news'))
  assert.equal(await text(running, sealed), 'news')
  await db.close()
})

/** A process whose reads of data keys end when the test says so, and the value of a process that started after it. */
async function laterValue(name: string, arriving: () => Promise<void> | undefined) {
  const { db, clock, path, open } = await fixture(name)
  const rootKeys = loadRootKeys({ kind: 'file', path }, {}, { create: true })
  let running = false
  const held: Database = {
    ...db,
    async all(statement, params) {
      const rows = await db.all(statement, params)
      if (running) await arriving()
      return rows
    },
  }
  const seal = await openSeal({ db: held, rootKeys, service: 'kms', clock })
  running = true
  const later = async (): Promise<Uint8Array> => {
    clock.time += 40 * day
    return (await open()).seal(place, Buffer.from('news'))
  }
  return { db, seal, later }
}

test('all that ask at once for a data key of another process get it', async () => {
  const { db, seal, later } = await laterValue('at-once', async () => {
    await new Promise((resolve) => setImmediate(resolve))
  })
  const sealed = await later()
  const texts = await Promise.all(Array.from({ length: 3 }, () => text(seal, sealed)))
  assert.deepEqual(texts, ['news', 'news', 'news'])
  await db.close()
})

test('a data key is found right after a look that failed, and after one that began before it was made', {
  timeout: 10_000,
}, async () => {
  const began = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const answers = [
    () => Promise.reject(new StorageUnavailable('busy')),
    async () => {
      began.resolve()
      await ended.promise
    },
  ]
  const { db, seal, later } = await laterValue('early-look', () => answers.shift()?.())
  const absent = Buffer.concat([Buffer.of(1), Buffer.alloc(44, 7)])
  await assert.rejects(text(seal, absent), StorageUnavailable)
  const asked = assert.rejects(text(seal, absent), UnknownDataKey)
  await Promise.race([began.promise, asked])
  const opened = text(seal, await later())
  ended.resolve()
  assert.equal(await opened, 'news')
  await asked
  await db.close()
})

test('a process with the root key of before a rotation adds no data key that cannot be opened', async () => {
  const { db, path, open, dataKeys } = await fixture('rotated')
  const stale = await open(1)
  await rotateRootKeyFile(path, { databases: [{ service: 'kms', db }] })
  const sealed: Uint8Array[] = []
  for (let turn = 0; turn < 50; turn += 1) {
    sealed.push(stale.seal(place, Buffer.from('still')))
    await db.ping()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(await dataKeys(), 1)
  const fresh = await open()
  for (const one of sealed) assert.equal(await text(fresh, one), 'still')
  await db.close()
})
