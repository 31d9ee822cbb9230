import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { getMemoryBytes, type RecordBatch } from './batch.ts'
import { createAuditClient } from './client.ts'
import { type OpenLogFile, openLogFile } from './files.ts'
import { openAuditLog } from './log.ts'
import { createRecordMaker, genesis } from './record.ts'
import { verifyAudit } from './verify.ts'
import { AuditWriter, createOwnEvent, type WriterOptions } from './writer.ts'

const event = createOwnEvent(Date.UTC(2026, 0, 1), 'test.operation')
const makeRecord = createRecordMaker({ node: 'n', service: 'kms' })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A log whose disk does nothing until it is let go. */
function hangingLog() {
  const folder = mkdtempSync(join(tmpdir(), 'warder-audit-'))
  const gate = Promise.withResolvers<void>()
  const openFile: OpenLogFile = (path) => {
    const file = openLogFile(path)
    return {
      get size() {
        return file.size
      },
      append: async (bytes) => {
        await gate.promise
        await file.append(bytes)
      },
      sync: () => file.sync(),
      cutTo: (size) => file.cutTo(size),
      changed: () => file.changed(),
      close: () => file.close(),
    }
  }
  const options: WriterOptions = {
    folder,
    service: 'kms',
    node: 'n',
    mode: 'reject',
    rotateBytes: 1e9,
    clock: systemClock,
    log: quietLog,
    openFile,
  }
  return {
    folder,
    options,
    letGo: gate.resolve,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Records of 128 KiB together. */
function createBatch(): RecordBatch {
  const record = makeRecord(event)
  const count = Math.floor((64 * 1024) / record.length)
  return { text: record.repeat(count), count }
}

test('what waits for a disk that hangs is bounded in memory, and what comes then is refused', async () => {
  using hanging = hangingLog()
  const path = join(hanging.folder, 'audit-0000000000000001.jsonl')
  const writer = new AuditWriter(hanging.options, path, { seq: 0, hash: genesis })
  const outcomes: (Error | undefined)[] = []
  for (let index = 0; index < 1000; index += 1)
    writer.addBatch(createBatch(), 1, (error) => outcomes.push(error))
  const accepted = Math.floor((64 * 1024 * 1024) / getMemoryBytes(createBatch()))
  assert.equal(outcomes.length, 1000 - accepted)
  assert.ok(outcomes.every((error) => error !== undefined))
  hanging.letGo()
  await writer.flush()
  assert.equal(outcomes.filter((error) => error === undefined).length, accepted)
  let again: Error | undefined | 'waits' = 'waits'
  writer.addBatch(createBatch(), 1, (error) => {
    again = error
  })
  await writer.close()
  assert.equal(again, undefined, 'memory that is written makes room')
})

test('a record that waits alone for a disk that hangs holds little more than itself', async () => {
  using hanging = hangingLog()
  const log = await openAuditLog(hanging.options)
  const trail = createAuditClient(log.connect(), 'reject')
  const records = 1500
  let refused = 0
  const all: Promise<void>[] = []
  for (let index = 0; index < records; index += 1) {
    all.push(
      trail.recordDurably(event).catch(() => {
        refused += 1
      }),
    )
    await turn()
    await turn()
  }
  hanging.letGo()
  await Promise.all(all)
  assert.equal(refused, 0)
  trail.close()
  await log.close()
  const { ok, records: found } = await verifyAudit(hanging.folder)
  assert.deepEqual([ok, found], [true, records])
})
