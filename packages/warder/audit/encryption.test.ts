import assert from 'node:assert/strict'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openAuditLog } from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import { readAuditHead } from '../backup/collect.ts'
import { describeLostOperations } from '../backup/lost-operations.ts'
import { main } from '../main.ts'
import { readLogKeys } from './unlock-log.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-encrypted-'))
after(() => rmSync(room, { recursive: true, force: true }))
const home = join(room, 'home')
const log = join(home, 'audit', 'kms')
const rootKey = join(home, 'root.key')
const database = join(home, 'kms.db')
const away = (path: string): string => `${path}.away`

async function run(...words: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    env: {},
  }
  const code = await main([...words], terminal)
  return { code, out, err: err.join('\n') }
}
const audit = (verb: string, ...words: readonly string[]) => run('audit', verb, '--home', home, ...words)
/** Without a file that is otherwise there. */
async function without<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  renameSync(path, away(path))
  try {
    return await work()
  } finally {
    renameSync(away(path), path)
  }
}

test('commands open an encrypted log by the root key and the database, and say which of them is missing', async (t) => {
  mkdirSync(home)
  writeFileSync(join(home, 'kms.toml'), 'audit_encryption = true\n')
  const db = openSqlite({ path: database })
  t.after(() => db.close())
  await migrate(db, 'seal', sealMigrations)
  const rootKeys = loadRootKeys({ kind: 'file', path: rootKey }, {}, { create: true })
  const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
  const start = Date.parse('2026-01-01T00:00:00Z')
  const written = await openAuditLog({
    ...{ folder: log, service: 'kms', node: 'n1', mode: 'reject', rotateBytes: 2500, log: quietLog, seal },
    ...{ clock: { ...systemClock, now: () => start }, encrypt: true },
  })
  for (let day = 0; day < 16; day += 1)
    await written.trail.recordDurably({
      ...{ time: start + day * 86_400_000, request_id: '-', operation: 'keys.delete', principal: 'alice' },
      ...{ auth_method: 'jwt', client_ip: '-', outcome: 'success', status: 200, duration_ms: 0 },
    })
  await written.whenIdle()
  await written.close()

  const all = (await audit('export')).out
  assert.equal(all.length, 17)
  assert.equal((await audit('tail', '--lines', '2', '--principal', 'alice')).out.length, 2)
  const whole = await audit('verify')
  assert.equal(whole.code, 0, whole.err)
  assert.match(whole.out[0] ?? '', /^ok {6}\S+kms: 17 records in \d files, head 17:/)

  await t.test('by both of which alone nothing is read, and closed files verify', async () => {
    for (const [path, reason] of [
      [rootKey, /kms is encrypted: the root key \S+ does not exist/],
      [database, /kms is encrypted: the database \S+ does not exist/],
    ] as const)
      await without(path, async () => {
        for (const verb of ['export', 'tail']) assert.match((await audit(verb)).err, reason)
        assert.match((await audit('archive', '--before', '2026-01-10')).err, reason)
        const { code, out } = await audit('verify')
        assert.equal(code, 1)
        assert.match(
          out[0] ?? '',
          /^UNREAD {2}\S+kms: audit-\d{16}\.jsonl\.enc: encrypted, and not verified \(/,
        )
        assert.match(out[0] ?? '', reason)
        // A backup is made all the same: the last closed file tells its head.
        const head = await readAuditHead(log, (path) => readLogKeys(path, { home, env: {} }))
        assert.ok(head !== null && head.seq > 8 && head.seq < 17)
        const keysOf = (path: string) => readLogKeys(path, { home, env: {} })
        assert.match((await describeLostOperations(join(home, 'audit'), {}, keysOf)).join(), reason)
      })
  })

  await t.test('by another root key, nothing', async () => {
    const keep = readFileSync(rootKey)
    rmSync(rootKey)
    loadRootKeys({ kind: 'file', path: rootKey }, {}, { create: true })
    assert.match((await audit('export')).err, /wrong root key: \S+ does not decrypt the kms database/)
    rmSync(rootKey)
    writeFileSync(rootKey, keep, { mode: 0o600 })
  })

  await t.test('they archive it compressed and encrypted, elsewhere with what opens it there', async () => {
    const to = join(room, 'archive')
    assert.equal((await audit('archive', '--before', '2026-01-05')).code, 0)
    const moved = await audit('archive', '--before', '2026-01-12', '--to', to)
    assert.equal(moved.code, 0, moved.err)
    const names = readdirSync(join(to, 'kms'))
    assert.ok(names.some((name) => name.endsWith('.jsonl.zst.enc')))
    assert.deepEqual(
      names.filter((name) => /\.jsonl(?:\.zst)?$/.test(name)),
      [],
    )
    const there = (await audit('export', join(to, 'kms'))).out
    assert.deepEqual([...there, ...(await audit('export')).out], all)
    const alone = await run('audit', 'verify', '--home', room, join(to, 'kms'))
    assert.equal(alone.code, 0, alone.out.join())
    assert.match(alone.out[0] ?? '', /files, \d of them encrypted and verified without their key/)
    assert.equal((await audit('verify')).code, 0)
  })

  await t.test('and what was in clear when it is archived', async () => {
    const clear = join(room, 'clear')
    mkdirSync(join(clear, 'audit'), { recursive: true })
    for (const name of ['kms.db', 'root.key']) copyFileSync(join(home, name), join(clear, name))
    copyFileSync(`${database}-wal`, join(clear, 'kms.db-wal'))
    writeFileSync(join(clear, 'kms.toml'), 'audit_encryption = true\n')
    const plain = await openAuditLog({
      ...{
        folder: join(clear, 'audit', 'kms'),
        service: 'kms',
        node: 'n1',
        mode: 'reject',
        rotateBytes: 100,
      },
      ...{ clock: { ...systemClock, now: () => start }, log: quietLog, seal },
    })
    await plain.whenIdle()
    await plain.close()
    const folder = ['--home', clear, '--before', '2026-01-12']
    assert.match((await run('audit', 'archive', ...folder)).err, /start the service once before/)
  })
})
