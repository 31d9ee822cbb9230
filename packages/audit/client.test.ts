import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { createAuditClient } from './client.ts'
import type { ToWriter } from './messages.ts'
import { createOwnEvent } from './writer.ts'

const event = createOwnEvent(Date.UTC(2026, 0, 1), 'test.operation')

test('a worker whose records are not taken keeps a bounded number of them and counts what it drops', async () => {
  const { port1, port2 } = new MessageChannel()
  /** Records of all messages so far, and how many were dropped. */
  const countRecords = (): readonly [recorded: number, lost: number] => {
    const all = messages.filter((message) => message.type === 'records')
    return [
      all.reduce((sum, { batch }) => sum + (batch?.count ?? 0), 0),
      all.reduce((sum, { lost }) => sum + lost, 0),
    ]
  }
  const messages: ToWriter[] = []
  port1.on('message', (message: ToWriter) => messages.push(message))
  const trail = createAuditClient({ port: port2, node: 'n', service: 'kms' }, 'continue')
  for (let count = 0; count < 60_000; count += 1) trail.record(event)
  await assert.rejects(trail.recordDurably(event), /audit/)
  const flushed = trail.flush()
  while (!messages.some(({ type }) => type === 'flush')) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(countRecords(), [50_000, 10_001])

  // Nothing was taken yet: what comes now is dropped too.
  trail.record(event)
  port1.postMessage({ taken: 50_000 })
  const id = messages.find((message) => message.type === 'flush')?.id
  port1.postMessage({ written: [id], failed: [] })
  await flushed
  trail.record(event)
  const again = trail.flush()
  while (messages.filter(({ type }) => type === 'flush').length < 2)
    await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(countRecords(), [50_001, 10_002])
  port1.close()
  await assert.rejects(again, /audit/)
})
