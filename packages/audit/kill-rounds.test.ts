import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'
import { readPublicCheckpointKey } from './checkpoint-key.ts'
import { exportAudit } from './export.ts'
import { openAuditLog } from './log.ts'
import { verifyAudit } from './verify.ts'

// Old files are archived, moved and removed by a process that is killed at one change of their folder after the other.

const rounds = Number(process.env.WARDER_KILL_ROUNDS ?? 3)
const archiver = fileURLToPath(new URL('fixtures/archiver.ts', import.meta.url))
const room = mkdtempSync(join(tmpdir(), 'warder-archive-kills-'))
const db = openSqlite({ path: join(room, 'seal.db') })
await migrate(db, 'seal', sealMigrations)
const rootKeys = loadRootKeys({ kind: 'file', path: join(room, 'root.key') }, {}, { create: true })
const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })
after(async () => {
  await db.close()
  rmSync(room, { recursive: true, force: true })
})

const records = 40

/** A log of some closed files and one that is written. */
async function newLog(name: string): Promise<string> {
  const folder = join(room, name)
  const log = await openAuditLog({
    folder,
    service: 'kms',
    node: 'n1',
    mode: 'reject',
    rotateBytes: 1500,
    clock: systemClock,
    log: quietLog,
    seal,
  })
  for (let index = 0; index < records; index += 1)
    await log.trail.recordDurably({
      time: Date.parse('2026-01-01T00:00:00Z'),
      request_id: '-',
      operation: 'crypto.encrypt',
      principal: 'alice',
      auth_method: 'jwt',
      client_ip: '127.0.0.1',
      outcome: 'success',
      status: 200,
      duration_ms: 0,
    })
  await log.whenIdle()
  await log.close()
  return folder
}

/** Ends it at so many changes of a folder; 0 = lets it come to its end. */
async function archiving(words: readonly string[], watched: string, changes: number): Promise<void> {
  const child = spawn(process.execPath, [archiver, room, ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  let seen = 0
  const watcher = watch(watched, () => {
    seen += 1
    if (seen === changes) child.kill('SIGKILL')
  })
  await once(child, 'close')
  watcher.close()
  assert.ok(child.signalCode === 'SIGKILL' || child.exitCode === 0, errors)
}

async function seqs(...folders: readonly string[]): Promise<ReadonlySet<number>> {
  const found = new Set<number>()
  for (const folder of folders)
    for await (const line of exportAudit({ folder, format: 'json' })) found.add(JSON.parse(line).seq)
  return found
}

async function requireWhole(folder: string): Promise<void> {
  const key = readPublicCheckpointKey(folder)
  const verdict = await verifyAudit(folder, { thorough: true, keys: key === undefined ? [] : [key] })
  assert.ok(verdict.ok, JSON.stringify(verdict))
}

const isUnfinished = (name: string): boolean => name.endsWith('.new')

test('archiving that is killed loses no record and goes on', async () => {
  const folder = await newLog('archived')
  const all = (await seqs(folder)).size
  for (let round = 0; round < rounds; round += 1) {
    await archiving([folder, 'archive'], folder, 2 + ((round * 7) % 11))
    await requireWhole(folder)
    assert.equal((await seqs(folder)).size, all)
  }
  await archiving([folder, 'archive'], folder, 0)
  await requireWhole(folder)
  assert.equal((await seqs(folder)).size, all)
  assert.deepEqual(readdirSync(folder).filter(isUnfinished), [])
})

test('moving files into an archive, when it is killed, leaves each in one of the two places', async () => {
  const folder = await newLog('moved')
  const to = join(room, 'archive')
  mkdirSync(to)
  const all = (await seqs(folder)).size
  for (let round = 0; round < rounds; round += 1) {
    await archiving([folder, 'archive', to], round % 2 === 0 ? to : folder, 2 + ((round * 5) % 7))
    await requireWhole(folder)
    assert.equal((await seqs(folder, to)).size, all)
  }
  await archiving([folder, 'archive', to], folder, 0)
  await requireWhole(folder)
  await requireWhole(to)
  assert.equal((await seqs(folder, to)).size, all)
  assert.deepEqual([...readdirSync(folder), ...readdirSync(to)].filter(isUnfinished), [])
})

test('removing that is killed leaves a log that verifies, and goes on', async () => {
  const folder = await newLog('pruned')
  for (let round = 0; round < rounds; round += 1) {
    await archiving([folder, 'prune'], folder, 1 + round * 2)
    await requireWhole(folder)
  }
  await archiving([folder, 'prune'], folder, 0)
  await requireWhole(folder)
  assert.ok((await seqs(folder)).size < records)
  assert.deepEqual(readdirSync(folder).filter(isUnfinished), [])
})
