import assert from 'node:assert/strict'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { lowerThreadPriority } from './thread-priority.ts'

test('a thread gives way, and its process does not', { skip: process.platform !== 'linux' }, async () => {
  const before = getPriority()
  const worker = new Worker(new URL('./fixtures/giving-thread.ts', import.meta.url))
  const [priority] = (await once(worker, 'message')) as [number]
  assert.equal(priority, Math.max(before, 10))
  assert.equal(getPriority(), before)
  await worker.terminate()
})

test('where priorities are those of processes nothing changes', () => {
  const before = getPriority()
  lowerThreadPriority('darwin')
  assert.equal(getPriority(), before)
})
