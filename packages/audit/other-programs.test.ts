// What rotates logs, or removes old files, does it to the file that is being written.

import assert from 'node:assert/strict'
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { createMetrics } from '@warder/runtime'
import { openAuditLog } from './log.ts'
import type { AuditFailureMode } from './types.ts'
import { verifyAudit } from './verify.ts'
import { createOwnEvent } from './writer.ts'

const room = mkdtempSync(join(tmpdir(), 'warder-audit-others-'))
after(() => rmSync(room, { recursive: true, force: true }))

const event = createOwnEvent(Date.UTC(2026, 0, 1), 'test.operation')
const formatName = (seq: number): string => `audit-${String(seq).padStart(16, '0')}.jsonl`

/** A log with three records. */
async function begun(mode: AuditFailureMode = 'reject') {
  const folder = mkdtempSync(join(room, 'log-'))
  const metrics = createMetrics()
  const log = await openAuditLog({
    folder,
    service: 'kms',
    node: 'n',
    mode,
    rotateBytes: 1e9,
    clock: systemClock,
    log: quietLog,
    metrics,
  })
  for (let count = 0; count < 3; count += 1) await log.trail.recordDurably(event)
  return { folder, log, metrics, file: join(folder, formatName(1)) }
}

const parseLines = (path: string): readonly Readonly<Record<string, unknown>>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const changes: Readonly<Record<string, (file: string) => void>> = {
  'it was removed or moved': (file) => rmSync(file),
  'it was replaced': (file) => {
    renameSync(file, `${file}.1`)
    writeFileSync(file, '')
  },
  'it was cut': (file) => {
    copyFileSync(file, `${file}.1`)
    truncateSync(file)
  },
  'another program wrote into it': (file) => appendFileSync(file, 'logrotate was here\n'),
}

for (const [problem, change] of Object.entries(changes))
  test(`a file of which ${problem.replace(/^it /, 'it is said that it ')} is left, and the log goes on in a new one`, async () => {
    const { folder, file, log, metrics } = await begun()
    change(file)
    await log.trail.recordDurably(event)
    await log.trail.recordDurably(event)
    await log.close()
    const [told, ...rest] = parseLines(join(folder, formatName(4)))
    assert.equal(told?.operation, 'audit.file_changed')
    assert.equal(told?.outcome, 'failure')
    assert.deepEqual(told?.details, { file: formatName(1), problem })
    assert.deepEqual(
      rest.map(({ seq, operation }) => [seq, operation]),
      [
        [5, 'test.operation'],
        [6, 'test.operation'],
      ],
    )
    assert.match(await metrics.exposition(), /warder_audit_files_changed_total 1/)
    assert.equal((await verifyAudit(folder)).ok, false)
  })

test('a file that was moved can be moved back: no record is lost', async () => {
  const { folder, file, log } = await begun()
  renameSync(file, `${file}.1`)
  await log.trail.recordDurably(event)
  renameSync(`${file}.1`, file)
  await log.close()
  const { ok, records } = await verifyAudit(folder)
  assert.deepEqual([ok, records], [true, 5])
})

test('a health check notices it where nothing is recorded, and hides nothing', async () => {
  const { folder, file, log } = await begun('continue')
  truncateSync(file)
  await log.trail.probe?.()
  await log.trail.probe?.()
  await log.close()
  assert.equal(readFileSync(file, 'utf8'), '')
  assert.equal(parseLines(join(folder, formatName(4)))[0]?.operation, 'audit.file_changed')
})

test('where no new file can be begun nothing is acknowledged, until one can be', async () => {
  const { folder, file, log } = await begun()
  const foreign = join(folder, formatName(4))
  writeFileSync(foreign, 'not of this service\n')
  rmSync(file)
  await assert.rejects(log.trail.recordDurably(event), /audit record cannot be written/)
  await assert.rejects(async () => log.trail.probe?.(), /audit record cannot be written/)
  assert.equal(readFileSync(foreign, 'utf8'), 'not of this service\n')
  rmSync(foreign)
  await log.trail.recordDurably(event)
  await log.close()
  assert.equal(parseLines(foreign).length, 2)
})
