import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { quietLog } from '@warder/base/testing'
import { migrate, openSqlite } from '@warder/storage'
import { noticeSettings } from '../config/notice-settings.ts'
import { listDueNotices, noticeMigrations } from '../notices/notice-store.ts'
import { createNoticeJobs } from './notice-jobs.ts'
import type { ServiceDefinition, ServiceEnvironment } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-jobs-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const hour = 3_600_000

test('an old backup is announced once a day over all nodes, by the newest backup that any of them made', async () => {
  const db = openSqlite({ path: join(folder, 'jobs.db') })
  await migrate(db, 'notices', noticeMigrations)
  const time = { now: Date.UTC(2026, 5, 1) }
  const settings = Object.entries(noticeSettings([], '')).map(([name, { default: value }]) => [name, value])
  const definition = {
    name: 'test',
    notices: {
      events: {},
      webhookSettings: 'url',
      webhook: () => ({ url: 'https://r.example/', secret: 's' }),
    },
  } as unknown as ServiceDefinition<unknown, unknown>
  const [near, far] = ['near', 'far'].map((node) => {
    const home = mkdtempSync(join(folder, node))
    const environment = {
      ...{ home, node, db, log: quietLog },
      config: { ...Object.fromEntries(settings), notices: ['backup.old=webhook'], notice_backup_hours: 48 },
      clock: { now: () => time.now, monotonic: () => time.now },
      metrics: { collected: () => undefined, count: () => undefined },
    } as unknown as ServiceEnvironment<unknown>
    const jobs = createNoticeJobs(definition, environment)
    const job = jobs.find(({ name }) => name === 'age of the last backup')
    assert.ok(job)
    return { home, job }
  })
  assert.ok(near && far)
  const look = async (hours: number) => {
    for (let passed = 0; passed < hours; passed += 1) {
      time.now += hour
      for (const { job } of [near, far]) if (await job.due?.()) await Promise.all([job.run(), job.run()])
    }
    return (await listDueNotices(db, 'webhook', { now: time.now, latest: time.now + hour, limit: 100 }))
      .length
  }
  const backUp = (home: string) =>
    writeFileSync(join(home, 'backup.json'), JSON.stringify({ at: new Date(time.now).toISOString() }))
  assert.equal(await look(48), 0, 'without a backup the time counts from the first check')
  assert.equal(await look(24), 1)
  assert.equal(await look(24), 2)
  backUp(far.home)
  assert.equal(await look(48), 2)
  backUp(near.home)
  assert.equal(await look(48), 2)
  assert.equal(await look(30), 4)
  await db.close()
})
