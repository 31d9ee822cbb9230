import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type AuditLog,
  archiveOld,
  openAuditLog,
  publicCheckpointKey,
  verifyAudit,
} from '@warder/foundation/audit'
import { systemClock } from '@warder/foundation/runtime'
import { loadRootKeys, openSeal, sealMigrations } from '@warder/foundation/seal'
import { migrate, openSqlite } from '@warder/foundation/sql'
import { quietLog } from '@warder/foundation/telemetry/testing'

/**
 * Measures the cost of an archived audit log for a start, beside reading all of it.
 *
 * Run: `node bench/operations/audit-start.ts [--megabytes 1024]`
 */
const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '1024' } } })
const wanted = Number(values.megabytes) * 2 ** 20
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const room = mkdtempSync(join(tmpdir(), 'warder-bench-audit-'))
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

async function timed<T>(work: () => Promise<T>): Promise<{ readonly seconds: number; readonly found: T }> {
  const began = performance.now()
  const found = await work()
  return { seconds: (performance.now() - began) / 1000, found }
}

const recordBytes = 480
const atOnce = 2000

try {
  const log = await open()
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
  }
  await log.tended()
  await log.close()
  const key = publicCheckpointKey(folder)
  const whole = await timed(() =>
    verifyAudit(folder, { thorough: true, keys: key === undefined ? [] : [key] }),
  )
  const old = { folder, before: Date.now() + 1000, by: 'bench', now: Date.now() }
  for await (const _ of archiveOld(old));
  const starts: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const { seconds, found } = await timed(open)
    starts.push(seconds)
    await found.close()
  }
  print(
    `${values.megabytes} MiB of records: start ${starts.map((one) => one.toFixed(2)).join(', ')} s; all of it read ${whole.seconds.toFixed(1)} s (${whole.found.ok ? 'ok' : 'broken'})`,
  )
} finally {
  await db.close()
  rmSync(room, { recursive: true, force: true })
}
