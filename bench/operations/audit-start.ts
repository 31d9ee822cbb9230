import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type AuditLog,
  archiveOld,
  openAuditLog,
  readPublicCheckpointKey,
  tailAudit,
  verifyAudit,
} from '@warder/audit'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { loadRootKeys, migrate, openSeal, openSqlite, sealMigrations } from '@warder/storage'

/**
 * Measures the cost of an archived audit log for a start, beside reading all of it, and how many bytes a start reads.
 *
 * Run: `node bench/operations/audit-start.ts [--megabytes 1024] [--room DIR [--step prepare|start|verify]]`. With `--room` the
 * log stays there, and a run may take one step alone: `start` is then the first one after the machine did something else.
 */
const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '1024' },
    room: { type: 'string' },
    step: { type: 'string' },
  },
})
const wanted = Number(values.megabytes) * 2 ** 20
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const room =
  values.room === undefined ? mkdtempSync(join(tmpdir(), 'warder-bench-audit-')) : resolve(values.room)
mkdirSync(room, { recursive: true })
const folder = join(room, 'kms')

const db = openSqlite({ path: join(room, 'seal.db') })
await migrate(db, 'seal', sealMigrations)
const rootKeys = loadRootKeys({ kind: 'file', path: join(room, 'root.key') }, {}, { create: true })
const seal = await openSeal({ db, rootKeys, service: 'kms', clock: systemClock })

const open = (): Promise<AuditLog> =>
  openAuditLog({
    folder,
    service: 'kms',
    node: 'bench',
    mode: 'reject',
    rotateBytes: 64 * 2 ** 20,
    clock: systemClock,
    log: quietLog,
    seal,
  })

async function measureTime<T>(
  work: () => Promise<T>,
): Promise<{ readonly seconds: number; readonly found: T }> {
  const began = performance.now()
  const found = await work()
  return { seconds: (performance.now() - began) / 1000, found }
}

const recordBytes = 480
const atOnce = 2000
/** Written between two archivings, so that the disk need not store all of it uncompressed. */
const roundBytes = 512 * 2 ** 20

/** Everything that this process has read from files so far (Linux). */
function bytesRead(): number {
  const path = '/proc/self/io'
  return existsSync(path) ? Number(/^rchar: (\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1]) : Number.NaN
}

async function prepare(): Promise<void> {
  const log = await open()
  let archived = 0
  for (let written = 0; written < wanted; written += atOnce * recordBytes) {
    const one = (index: number) =>
      log.trail.recordDurably({
        time: Date.now(),
        request_id: `0f8fad5b-d9cb-469f-a165-${String(written + index).padStart(12, '0')}`,
        operation: 'crypto.encrypt',
        principal: `user-${index}`,
        auth_method: 'jwt',
        object: `018f8fad-d9cb-769f-a165-${String(index).padStart(12, '0')}`,
        client_ip: '192.0.2.1',
        outcome: 'success',
        status: 200,
        duration_ms: 1,
      })
    await Promise.all(Array.from({ length: atOnce }, (_, index) => one(index)))
    if (written - archived < roundBytes) continue
    archived = written
    await log.whenIdle()
    await archive()
  }
  await log.whenIdle()
  await log.close()
  await archive()
}

async function archive(): Promise<void> {
  for await (const _ of archiveOld({ folder, before: Date.now() + 1000, by: 'bench', now: Date.now() }));
}

async function start(): Promise<void> {
  const starts: string[] = []
  for (let round = 0; round < 3; round += 1) {
    const before = bytesRead()
    const { seconds, found } = await measureTime(open)
    starts.push(`${seconds.toFixed(2)} s (${((bytesRead() - before) / 2 ** 20).toFixed(1)} MiB read)`)
    await found.close()
  }
  const stored = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  const records = await last()
  print(`${records} records in ${Math.round(stored / 2 ** 20)} MiB of files: start ${starts.join(', ')}`)
}

/** Number of the last record. */
async function last(): Promise<number> {
  for await (const line of tailAudit({ folder, format: 'json', lines: 1 })) return JSON.parse(line).seq
  return 0
}

async function verify(): Promise<void> {
  const key = readPublicCheckpointKey(folder)
  const keys = key === undefined ? [] : [key]
  const { seconds, found } = await measureTime(() => verifyAudit(folder, { thorough: true, keys }))
  print(`all of it read ${seconds.toFixed(1)} s (${found.ok ? 'ok' : 'broken'})`)
}

try {
  for (const [name, step] of Object.entries({ prepare, start, verify }))
    if (values.step === undefined || values.step === name) await step()
} finally {
  await db.close()
  if (values.room === undefined) rmSync(room, { recursive: true, force: true })
}
