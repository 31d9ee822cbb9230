import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartupError } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { type Database, DatabaseUnreachable } from '@warder/storage'
import { isTransientError } from '@warder/storage/testing'
import { connectWhenThere } from './primary-storage.ts'

const there = {} as Database

function waiting(
  failures: number,
  maxMs: number | undefined,
  error: Error = new DatabaseUnreachable('away'),
) {
  const waits: number[] = []
  let attempts = 0
  let told = 0
  const connected = connectWhenThere({
    open: async () => {
      attempts += 1
      if (attempts <= failures) throw error
      return there
    },
    maxMs: maxMs,
    log: quietLog,
    onUnavailable: async () => {
      told += 1
    },
    wait: async (ms) => void waits.push(ms),
  })
  return { connected, waits, told: () => told }
}

test('a database that is away is waited for, at most 30 seconds at a time', async () => {
  const { connected, waits, told } = waiting(8, undefined)
  assert.equal(await connected, there)
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
  assert.equal(told(), 1)
})

test('the setting bounds the wait, and 0 is none', async () => {
  const bounded = waiting(100, 10_000)
  await assert.rejects(bounded.connected, DatabaseUnreachable)
  assert.deepEqual(bounded.waits, [1000, 2000, 4000, 3000])
  const none = waiting(1, 0)
  await assert.rejects(none.connected, DatabaseUnreachable)
  assert.deepEqual([none.waits, none.told()], [[], 0])
})

test('what waiting does not mend is told at once', async () => {
  const { connected, waits } = waiting(1, undefined, new StartupError('password authentication failed'))
  await assert.rejects(connected, /password authentication failed/)
  assert.deepEqual(waits, [])
  for (const code of ['ECONNREFUSED', 'EAI_AGAIN', '57P03', '53300', '08006'])
    assert.ok(isTransientError({ code }), code)
  for (const code of ['28P01', '3D000', 'DEPTH_ZERO_SELF_SIGNED_CERT'])
    assert.ok(!isTransientError({ code }), code)
  assert.ok(
    isTransientError(new Error('Connection terminated unexpectedly')) &&
      isTransientError(new Error('timeout expired')),
  )
  assert.ok(!isTransientError(new Error('The server does not support SSL connections')))
})
