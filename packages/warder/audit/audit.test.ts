import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openAuditLog } from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import { main } from '../main.ts'
import { verifyLogs } from './verify.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-command-'))
after(() => rmSync(room, { recursive: true, force: true }))
let count = 0

/** A home with a log of three records for each service that is named. */
async function homeWith(...services: readonly string[]): Promise<string> {
  const home = join(room, String(count++))
  mkdirSync(home)
  for (const service of services) {
    const log = await openAuditLog({
      folder: join(home, 'audit', service),
      service,
      node: 'n1',
      mode: 'continue',
      rotateBytes: 1_000_000,
      clock: systemClock,
      log: quietLog,
    })
    for (const operation of ['one', 'two', 'three']) {
      log.trail.record({
        time: 1_700_000_000_000,
        request_id: '-',
        operation,
        principal: 'alice',
        auth_method: 'jwt',
        client_ip: '127.0.0.1',
        outcome: 'success',
        status: 200,
        duration_ms: 0,
      })
    }
    await log.close()
  }
  return home
}

const logOf = (home: string, service = 'kms'): string => join(home, 'audit', service)
const fileOf = (home: string): string => join(logOf(home), 'audit-0000000000000001.jsonl')

async function run(...words: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const code = await main(['audit', ...words], {
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    env: {},
  })
  return { code, out, err }
}

test('whole logs are ok; a service that was never started needs none', async () => {
  const home = await homeWith('auth', 'kms')
  const { code, out } = await run('verify', '--home', home)
  assert.equal(code, 0)
  assert.match(out.join('\n'), /^ok {6}\S+auth: 3 records in 1 files, head 3:\S+\nok {6}\S+kms: 3 records/)
  assert.equal((await run('verify', '--home', await homeWith('auth'))).code, 0)
})

test('a file whose first record is gone is broken, also when it was put aside', async () => {
  const home = await homeWith('kms')
  const [, ...rest] = readFileSync(fileOf(home), 'utf8').split('\n')
  writeFileSync(fileOf(home), rest.join('\n'))
  const aside = `${fileOf(home)}.broken-2026-11-21`
  writeFileSync(aside, rest.join('\n'))
  for (const file of [fileOf(home), aside]) {
    const { code, out } = await run('verify', file)
    assert.deepEqual([code, out], [1, [`BROKEN  ${file}:1: record 1 is missing here (found 2)`]])
  }
})

test('a log without records fails, named or of a home, and the other log is still looked at', async () => {
  const home = await homeWith('auth', 'kms')
  for (const name of readdirSync(logOf(home))) rmSync(join(logOf(home), name))
  const told = `MISSING ${logOf(home)}: contains no record, but a service writes one at each start`
  assert.deepEqual(await run('verify', logOf(home)), { code: 1, out: [told], err: [] })
  const both = await run('verify', '--home', home)
  assert.equal(both.code, 1)
  assert.match(both.out[0] ?? '', /^ok {6}\S+auth: 3 records/)
  assert.equal(both.out[1], told)
  writeFileSync(fileOf(home), '')
  assert.deepEqual((await run('verify', fileOf(home))).code, 1)
})

test('a service that has a database and no log is told, unless its log is switched off', async () => {
  const home = await homeWith('auth')
  writeFileSync(join(home, 'kms.db'), '')
  const { code, out } = await run('verify', '--home', home)
  assert.equal(code, 1)
  assert.equal(out[1], `MISSING ${logOf(home)}: kms has a database (${join(home, 'kms.db')}) but no log`)
  writeFileSync(join(home, 'kms.toml'), 'audit_enabled = false\n')
  assert.equal((await run('verify', '--home', home)).code, 0)
})

test('a torn last line is told with its place, exit code 1', async () => {
  const home = await homeWith('kms')
  const size = statSync(fileOf(home)).size
  const at = readFileSync(fileOf(home)).lastIndexOf(10, size - 2) + 1
  truncateSync(fileOf(home), size - 20)
  for (const path of [logOf(home), fileOf(home)]) {
    const { code, out } = await run('verify', path)
    assert.equal(code, 1)
    assert.equal(out.length, 1)
    assert.ok(out[0]?.startsWith(`TORN    ${fileOf(home)}: `), out.join())
    assert.ok(out[0]?.includes(`(${size - 20 - at} bytes at offset ${at})`), out.join())
    assert.match(out[0] ?? '', /the next start of the service removes it and records that$/)
  }
})

test('an end with zeros, as after a power cut, is told as torn', async () => {
  const home = await homeWith('kms')
  const { size } = statSync(fileOf(home))
  truncateSync(fileOf(home), size + 5000)
  appendFileSync(fileOf(home), '{}\n')
  const { code, out } = await run('verify', logOf(home))
  assert.equal(code, 1)
  assert.ok(
    out[0]?.includes(`the end is incomplete (5003 bytes at offset ${size}, some of them zero)`),
    out.join(),
  )
})

test('a line that is being written is not torn', async () => {
  const home = await homeWith('kms')
  const bytes = readFileSync(fileOf(home))
  truncateSync(fileOf(home), bytes.length - 20)
  const out: string[] = []
  const wait = async (): Promise<void> => appendFileSync(fileOf(home), bytes.subarray(-20))
  const logs = { paths: [logOf(home)], missing: [] }
  const code = await verifyLogs(logs, {}, { out: (line) => void out.push(line) }, wait)
  assert.equal(code, 0, out.join())
  assert.match(out.join(), /^ok .*: 3 records/)
})

test('what cannot be read is told in one line, exit code 1', async () => {
  const home = await homeWith('kms')
  rmSync(fileOf(home))
  mkdirSync(fileOf(home))
  for (const verb of ['verify', 'export']) {
    const nowhere = await run(verb, join(home, 'nope'))
    assert.deepEqual(nowhere, {
      code: 1,
      out: [],
      err: [`warder audit: ${join(home, 'nope')} does not exist`],
    })
    const unreadable = await run(verb, logOf(home))
    assert.deepEqual([unreadable.code, unreadable.out, unreadable.err.length], [1, [], 1])
    assert.match(unreadable.err.join(), /^warder audit: .*illegal operation on a directory$/)
  }
})

test('an export stops at a line that is no record, and names it', async () => {
  for (const line of ['null', '5', '"text"', '[]', '{']) {
    const home = await homeWith('kms')
    appendFileSync(fileOf(home), `${line}\n`)
    for (const format of ['json', 'cef']) {
      const { code, out, err } = await run('export', logOf(home), '--format', format)
      assert.deepEqual([code, out.length], [1, 3])
      assert.deepEqual(err, [
        `warder audit: ${fileOf(home)}:4: the line is not a record: run warder audit verify`,
      ])
    }
  }
})

/** A home whose kms log has four closed files, of 2026-01-01 to 2026-01-20, and two that stay. */
async function oldHome(): Promise<string> {
  const home = join(room, String(count++))
  mkdirSync(home)
  const db = openSqlite({ path: join(home, 'kms.db') })
  await migrate(db, 'seal', sealMigrations)
  const rootKeys = loadRootKeys({ kind: 'file', path: join(home, 'root.key') }, {}, { create: true })
  const start = Date.parse('2026-01-01T00:00:00Z')
  const clock = { ...systemClock, now: () => start }
  const log = await openAuditLog({
    folder: join(home, 'audit', 'kms'),
    service: 'kms',
    node: 'n1',
    mode: 'reject',
    rotateBytes: 1500,
    clock,
    log: quietLog,
    seal: await openSeal({ db, rootKeys, service: 'kms', clock }),
  })
  for (let day = 0; day < 20; day += 1) {
    await log.trail.recordDurably({
      time: start + day * 86_400_000,
      request_id: '-',
      operation: day % 2 === 0 ? 'crypto.encrypt' : 'keys.delete',
      principal: day % 3 === 0 ? 'alice' : 'bob',
      auth_method: 'jwt',
      object: `key-${day}`,
      client_ip: '127.0.0.1',
      outcome: day % 5 === 0 ? 'failure' : 'success',
      status: 200,
      duration_ms: 0,
    })
  }
  await log.whenIdle()
  await log.close()
  await db.close()
  return home
}

test('old files are archived and pruned by the command, and the log still verifies', async () => {
  const home = await oldHome()
  const all = await run('export', logOf(home))
  const archived = await run('archive', '--before', '2026-01-10', logOf(home))
  assert.equal(archived.code, 0, archived.err.join())
  assert.match(archived.out[0] ?? '', /^archived audit-0{15}1\.jsonl: \d+ records \(\S+\.jsonl\.zst\)$/)
  assert.deepEqual(await run('export', logOf(home)), all)
  const asked = await run('prune', '--before', '2026-01-06', logOf(home))
  assert.match(asked.out[0] ?? '', /^would remove /)
  assert.deepEqual(asked.err, ['nothing was removed: use --yes to remove these files'])
  assert.deepEqual(await run('export', logOf(home)), all)
  const elsewhere = await run('prune', '--before', '2026-01-06', '--yes', '--home', room, logOf(home))
  assert.match(elsewhere.err.join(), /needs its signing key to remove files: the root key .* does not exist/)
  const pruned = await run('prune', '--before', '2026-01-06', '--yes', '--home', home, logOf(home))
  assert.match(pruned.out[0] ?? '', /^removed /)
  assert.match((await run('verify', logOf(home))).out[0] ?? '', /^ok .* 1 older files removed, head /)
  assert.equal((await run('verify', '--key', join(logOf(home), 'checkpoint.pub'), logOf(home))).code, 0)
  const none = await run('prune', '--before', '2025-01-06', '--yes', '--home', home, logOf(home))
  assert.deepEqual(none.out, ['no closed file is older than that'])
  assert.equal((await run('prune', '--before', '2999-01-01', '--yes', logOf(home))).code, 2)
  assert.equal((await run('verify', '--key', join(home, 'root.key'), logOf(home))).code, 1)
})

test('records are found by who asked, what for, and how it ended', async () => {
  const home = await oldHome()
  const found = async (...words: readonly string[]) => (await run('export', logOf(home), ...words)).out.length
  assert.equal(await found('--principal', 'alice'), 7)
  assert.equal(await found('--principal', 'alice', '--outcome', 'failure'), 2)
  assert.equal(await found('--key', 'key-4'), 1)
  assert.equal(await found('--operation', 'crypto.*'), 10)
  assert.equal(await found('--operation', 'crypto'), 0)
  const last = await run('tail', logOf(home), '--lines', '3', '--operation', 'keys.delete')
  assert.deepEqual(
    last.out.map((line) => JSON.parse(line).object),
    ['key-15', 'key-17', 'key-19'],
  )
  for (const words of [
    ['--outcome', 'maybe'],
    ['--format', 'xml'],
    ['--lines', '-1'],
  ])
    assert.equal((await run('tail', logOf(home), ...words)).code, 2)
})
