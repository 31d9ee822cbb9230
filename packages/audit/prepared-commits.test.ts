import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import {
  change,
  type Database,
  GuardFailed,
  insertInto,
  migrate,
  openPostgres,
  openSqlite,
  query,
  UniqueViolation,
} from '@warder/storage'
import { startTestPostgres } from '@warder/storage/testing'
import { noLogKeys } from './encrypted-bytes.ts'
import { type AuditLog, openAuditLog } from './log.ts'
import { preparedCommitMigrations } from './prepared-commit-store.ts'
import { createPreparedCommits, type PreparedCommit } from './prepared-commits.ts'
import { resolvePreparedCommits } from './resolve-prepared.ts'
import { verifyAudit } from './verify.ts'
import { createOwnEvent } from './writer.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-announced-'))
after(() => rmSync(room, { recursive: true, force: true }))
let count = 0

const thing = { number: 1, name: 'things', statements: ['CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY)'] }
const insert = insertInto<[string]>('thing', ['id'])
const rowsOf = query<[], { readonly number: number }>('SELECT number FROM audit_commit ORDER BY number')
const insertRow = (id: string) => change(insert, [id], 1)
const impossible = change(query<[]>("DELETE FROM thing WHERE id = 'none'"), [], 1)

type Line = Readonly<Record<string, unknown>> & { readonly details?: Readonly<Record<string, unknown>> }

/** A log and a database that outlive the process of the service. */
async function place(open: () => Promise<Database>) {
  const folder = join(room, String(count++))
  const db = await open()
  await migrate(db, 'audit', preparedCommitMigrations)
  await migrate(db, 'thing', [thing])
  const start = async (): Promise<AuditLog> => {
    const log = await openAuditLog({
      folder,
      service: 'kms',
      node: 'n',
      mode: 'reject',
      rotateBytes: 1500,
      clock: systemClock,
      log: quietLog,
    })
    await resolvePreparedCommits({
      ...{ folder, db, trail: log.trail, keys: log.keys, log: quietLog, now: systemClock.now },
    })
    await log.trail.recordDurably({ ...createOwnEvent(0, 'service.start') })
    return log
  }
  const announce = async (
    log: AuditLog,
    commit: PreparedCommit,
    object: string,
    more = {},
  ): Promise<void> => {
    const details = { ...more, commit: commit.id }
    await log.trail.recordDurably({ ...createOwnEvent(0, 'kmip.Destroy'), object, details })
    commit.markPrepared()
  }
  const corrections = (): Line[] =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
      .map((line) => JSON.parse(line) as Line)
      .filter(({ reason }) => reason === 'not_committed')
  return { folder, db, start, announce, corrections }
}

const postgres = await startTestPostgres()
after(async () => {
  if (!('missing' in postgres)) await postgres.stop()
})
const engines = {
  sqlite: async () => openSqlite({ path: join(room, `${count}.db`) }),
  postgresql: async () => openPostgres({ url: 'missing' in postgres ? '' : await postgres.database() }),
}

for (const [engine, open] of Object.entries(engines)) {
  const skip = engine === 'postgresql' && 'missing' in postgres && postgres.missing
  test(`successes that never happened are corrected at the next start (${engine})`, {
    skip,
  }, async () => {
    const { folder, db, start, announce, corrections } = await place(open)
    let log = await start()
    const commits = createPreparedCommits(db)
    const [happened, never, told, several] = [
      await commits.begin(),
      await commits.begin(),
      await commits.begin(),
      await commits.begin(),
    ]
    await announce(log, happened, 'k1')
    assert.equal((await happened.commit(db.commit, [insertRow('k1')])).length, 1)
    await happened.commit(db.commit, [insertRow('k1-more')])
    await announce(log, never, 'k2')
    await announce(log, told, 'k3')
    await assert.rejects(told.commit(db.commit, [insertRow('k3'), impossible]), (error) => {
      return error instanceof GuardFailed && error.index === 1
    })
    await announce(log, told, 'k3', { follows: 'uncommitted' })
    await announce(log, several, 'k4')
    await announce(log, several, 'k5')
    await log.close()

    log = await start()
    const found = corrections()
    assert.deepEqual(
      found.map(({ object, outcome, details }) => [object, outcome, details?.follows, details?.commit]),
      [
        ['k2', 'failure', 'uncommitted', never.id],
        ['k4', 'failure', 'uncommitted', several.id],
        ['k5', 'failure', 'uncommitted', several.id],
      ],
    )
    await log.close()
    log = await start()
    await log.close()
    assert.deepEqual(corrections(), found, 'once')
    assert.equal((await verifyAudit(folder)).ok, true)
    assert.deepEqual(await db.all(rowsOf, []), [])
    await db.close()
  })
}

test('a start that could not write what it found is made up for, and a commit that comes late is refused', async () => {
  const { folder, db, start, announce, corrections } = await place(engines.sqlite)
  let log = await start()
  const late = await createPreparedCommits(db).begin()
  await announce(log, late, 'k1')
  const full = { ...log.trail, recordDurably: () => Promise.reject(new Error('disk full')) }
  await assert.rejects(
    resolvePreparedCommits({
      ...{ folder, db, trail: full, keys: noLogKeys },
      log: quietLog,
      now: systemClock.now,
    }),
    /disk full/,
  )
  await assert.rejects(late.commit(db.commit, [insertRow('k1')]), UniqueViolation)
  await log.close()
  log = await start()
  await log.close()
  assert.equal(corrections().length, 1)
  await db.close()
})

test('numbers are forgotten while the service runs, but not those that are open', async () => {
  const { db, start, announce, corrections } = await place(engines.sqlite)
  let log = await start()
  const commits = createPreparedCommits(db, 10)
  const abandoned = await commits.begin()
  await announce(log, abandoned, 'abandoned')
  abandoned.markInDoubt()
  const refused = await commits.begin()
  refused.markInDoubt()
  const underWay = await commits.begin()
  await announce(log, underWay, 'under way')
  for (let index = 0; index < 25; index += 1) {
    const one = await commits.begin()
    await one.commit(db.commit, [insertRow(`k${index}`)])
  }
  assert.equal((await db.all(rowsOf, [])).length, 25, 'one that is under way keeps those behind it')
  underWay.markResolved()
  for (let index = 25; index < 50; index += 1) {
    const one = await commits.begin()
    await announce(log, one, `k${index}`)
    await one.commit(db.commit, [insertRow(`k${index}`)])
  }
  await db.commit([])
  assert.ok((await db.all(rowsOf, [])).length < 20)
  await log.close()
  log = await start()
  await log.close()
  assert.deepEqual(
    corrections().map(({ object }) => object),
    ['abandoned'],
  )
  await db.close()
})
