import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { auditClient } from './client.ts'
import type { ToWriter } from './messages.ts'
import { ownEvent } from './writer.ts'

const event = ownEvent(Date.UTC(2026, 0, 1), 'test.operation')

test('a worker whose records are not taken keeps a bounded number of them and counts what it drops', async () => {
  const { port1, port2 } = new MessageChannel()
  const messages: ToWriter[] = []
  port1.on('message', (message: ToWriter) => messages.push(message))
  const trail = auditClient(port2, 'continue')
  for (let count = 0; count < 60_000; count += 1) trail.record(event)
  await assert.rejects(trail.recordDurably(event), /audit/)
  const flushed = trail.flush()
  while (!messages.some(({ type }) => type === 'flush')) await new Promise((resolve) => setImmediate(resolve))
  const [first] = messages
  assert.ok(first?.type === 'records')
  assert.equal(first.text.split('\n').length / 4, 50_000)
  assert.equal(first.lost, 10_001)

  // Nothing was taken yet: what comes now is dropped too.
  trail.record(event)
  port1.postMessage({ taken: 50_000 })
  const id = messages.find((message) => message.type === 'flush')?.id
  port1.postMessage({ written: [id], failed: [] })
  await flushed
  trail.record(event)
  const again = trail.flush()
  while (messages.length < 4) await new Promise((resolve) => setImmediate(resolve))
  const second = messages[2]
  assert.ok(second?.type === 'records')
  assert.equal(second.text.split('\n').length / 4, 1)
  assert.equal(second.lost, 1)
  port1.close()
  await assert.rejects(again, /audit/)
})
