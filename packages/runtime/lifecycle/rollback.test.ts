import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createOwnEvent, openAuditLog } from '@warder/audit'
import type { AuditLogOptions } from '@warder/audit/testing'
import { StartupError, systemClock } from '@warder/base'
import { change, type Database, openPostgres, openSqlite, query } from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { foundationSettings } from '../config/foundation-settings.ts'
import { createLogger } from '../logger.ts'
import { gateMemory } from './fixtures/gated-service.ts'
import type { ServiceLaunch } from './launch.ts'
import { type RunningService, runService } from './primary.ts'

// A database that was missing, or older than its audit log, started without a word.

const server = await startTestPostgres()
const folder = mkdtempSync(join(tmpdir(), 'warder-rollback-'))
after(async () => {
  if ('stop' in server) await server.stop()
  rmSync(folder, { recursive: true })
})

interface TestHome {
  readonly home: string
  readonly url: string
  open(): Promise<Database>
}

const engines = [
  {
    name: 'SQLite',
    skip: false as string | false,
    async place(): Promise<TestHome> {
      const home = mkdtempSync(join(folder, 'home-'))
      const path = join(home, 'test.db')
      return { home, url: `sqlite:${path}`, open: async () => openSqlite({ path }) }
    },
  },
  {
    name: 'PostgreSQL',
    skip: 'missing' in server ? server.missing : false,
    async place(): Promise<TestHome> {
      assert.ok('database' in server)
      const url = await server.database()
      return { home: mkdtempSync(join(folder, 'home-')), url, open: () => openPostgres({ url }) }
    },
  },
]

interface StartOptions extends Partial<ServiceLaunch> {
  readonly settings?: Partial<ServiceLaunch['config']>
}

function start({ home, url }: TestHome, { settings, ...more }: StartOptions = {}): Promise<RunningService> {
  const defaults = Object.entries(
    foundationSettings({ name: 'test', port: 0, bodyLimitBytes: 1_048_576 }),
  ).map(([name, row]) => [name, row.default])
  const own = {
    port: 0,
    workers: 1,
    log_level: 'error',
    plaintext_http: true,
    database_url: url,
    root_key_file: join(home, 'root.key'),
    gate: gateMemory(),
    ...settings,
  }
  return runService({
    module: new URL('./fixtures/gated-service.ts', import.meta.url).href,
    exportName: 'gatedService',
    config: { ...Object.fromEntries(defaults), ...own } as ServiceLaunch['config'],
    home,
    version: '0',
    env: {},
    ...more,
  })
}

async function startAndStop(place: TestHome, more?: StartOptions): Promise<void> {
  await (await start(place, more)).stop()
}

interface LogRecord {
  readonly operation: string
  readonly details?: Readonly<Record<string, unknown>>
}

function readRecords({ home }: TestHome): readonly LogRecord[] {
  const log = join(home, 'audit', 'test')
  return readdirSync(log)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(log, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as LogRecord)
}

function auditOptions(home: string): AuditLogOptions {
  const log = createLogger({ level: 'error', service: 'test' })
  const common = {
    service: 'test',
    node: 'n',
    mode: 'continue',
    rotateBytes: 1e6,
    clock: systemClock,
  } as const
  return { ...common, folder: join(home, 'audit', 'test'), log }
}

const readKnown = (place: TestHome): unknown =>
  readRecords(place).findLast(({ operation }) => operation === 'database.commits')?.details?.commits

async function countCommits(place: TestHome): Promise<number> {
  const db = await place.open()
  try {
    const row = await db.get(
      query<[], { number: number }>('SELECT CAST(SUM(number) AS BIGINT) AS number FROM commit_count'),
      [],
    )
    return row?.number ?? 0
  } finally {
    await db.close()
  }
}

async function run(place: TestHome, statements: readonly string[]): Promise<void> {
  const db = await place.open()
  for (const statement of statements) await db.commit([change(query(statement), [])])
  await db.close()
}

async function assertRefused(place: TestHome, reason: RegExp, more?: StartOptions): Promise<void> {
  const outcome = await start(place, more).catch((error: unknown) => error)
  // One that started all the same would keep the tests waiting.
  if (!(outcome instanceof Error)) await (outcome as RunningService).stop()
  assert.ok(outcome instanceof StartupError, `it is not refused: ${outcome}`)
  assert.match(outcome.message, reason)
}

for (const { name, skip, place: newPlace } of engines) {
  test(`${name}: every commit is counted, and the log knows the number that the database has`, {
    skip,
  }, async () => {
    const place = await newPlace()
    await startAndStop(place)
    assert.equal(readKnown(place), await countCommits(place))
    const before = await countCommits(place)
    await run(place, ['CREATE TABLE thing (id BIGINT)', 'INSERT INTO thing (id) VALUES (1)'])
    assert.equal(await countCommits(place), before + 2)
    // Ahead of the log, as after a crash: in order.
    await startAndStop(place)
    assert.equal(readKnown(place), await countCommits(place))
  })

  test(`${name}: a commit that is taken back is not counted`, { skip }, async () => {
    const place = await newPlace()
    await startAndStop(place)
    const before = await countCommits(place)
    const db = await place.open()
    await assert.rejects(db.commit([change(query("DELETE FROM lease WHERE name = 'none'"), [], 1)]))
    await db.close()
    assert.equal(await countCommits(place), before)
  })

  test(`${name}: a database behind its log is refused, accepted once, and then no older copy passes`, {
    skip,
  }, async () => {
    const place = await newPlace()
    await startAndStop(place)
    const last = Number(readKnown(place))
    await run(place, ['DELETE FROM commit_count', 'UPDATE commit_count SET number = 0'])
    const found = await countCommits(place)
    const behind = new RegExp(`has ${found} commits, but the log .* records ${last}.*--accept-rollback`)
    await assertRefused(place, behind)
    await assertRefused(place, behind)
    assert.equal(await countCommits(place), found, 'a start that is refused writes nothing')
    await startAndStop(place, { acceptRollback: true })
    const accepted = readRecords(place).find(({ operation }) => operation === 'database.rollback_accepted')
    assert.deepEqual(accepted?.details, { found_commits: found, known_commits: last, state: 'behind' })
    assert.ok((await countCommits(place)) > last)
    await startAndStop(place)
    // The database of before the loss, put back later, is another history.
    await run(place, [
      'DELETE FROM commit_count',
      `INSERT INTO commit_count (slot, number) VALUES (99, ${last - 5})`,
    ])
    await assertRefused(place, /is older than its audit log/)
  })

  test(`${name}: an empty database beside a used log is refused`, { skip }, async () => {
    const place = await newPlace()
    await startAndStop(place)
    const other = { ...(await newPlace()), home: place.home }
    await assertRefused(other, /is missing or empty.*--accept-rollback/)
    await startAndStop(other, { acceptRollback: true })
    await startAndStop(other)
    await assertRefused(place, /is older than its audit log/)
  })

  test(`${name}: a database behind its encrypted log is refused, and so is one that does not open it`, {
    skip,
  }, async () => {
    const place = await newPlace()
    const encrypted = { settings: { audit_encryption: true } }
    await startAndStop(place, encrypted)
    assert.deepEqual(readRecords(place), [])
    // Switched off, the log is read all the same.
    await run(place, ['DELETE FROM commit_count', 'UPDATE commit_count SET number = 0'])
    const found = await countCommits(place)
    await assertRefused(place, new RegExp(`has ${found} commits, but the log .* records \\d`))
    const other = await newPlace()
    await startAndStop(other)
    const foreign = { ...other, home: place.home }
    const root = { settings: { audit_encryption: true, root_key_file: join(other.home, 'root.key') } }
    await assertRefused(foreign, /encrypted with a key that this database does not contain/, root)
    await assertRefused(foreign, /^wrong root key/, encrypted)
    await startAndStop(foreign, { ...root, acceptRollback: true })
    await startAndStop(foreign, root)
    const log = readdirSync(join(place.home, 'audit', 'test'))
    assert.ok(log.includes('audit-0000000000000001.jsonl.enc'))
    assert.equal(log.filter((file) => file.includes('.enc.broken-')).length, 1)
  })

  test(`${name}: a home of a version that did not count is adopted`, { skip }, async () => {
    const place = await newPlace()
    await startAndStop(place)
    // As that version left it: no table, and a log that tells of no commits.
    rmSync(join(place.home, 'audit'), { recursive: true })
    const log = await openAuditLog(auditOptions(place.home))
    log.trail.record(createOwnEvent(0, 'service.start'))
    await log.close()
    await run(place, [
      'DROP TABLE commit_count',
      "DELETE FROM schema_migration WHERE component = 'commit count'",
      'DELETE FROM audit_head',
    ])
    await startAndStop(place)
    assert.equal(readKnown(place), await countCommits(place))
    assert.ok(Number(readKnown(place)) > 0)
  })
}

test('SQLite: a file that is missing is not created, and a copy of last week is refused', async () => {
  const [sqlite] = engines
  assert.ok(sqlite)
  const place = await sqlite.place()
  const path = join(place.home, 'test.db')
  await startAndStop(place)
  copyFileSync(path, `${path}.last-week`)
  await run(place, ['CREATE TABLE thing (id BIGINT)'])
  await startAndStop(place)
  rmSync(path)
  await assertRefused(place, /is missing or empty/)
  assert.ok(!readdirSync(place.home).includes('test.db'))
  copyFileSync(`${path}.last-week`, path)
  await assertRefused(place, /is older than its audit log/)
})
