import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '@warder/audit'
import { quietLog } from '@warder/base/testing'
import { createMetrics } from '../metrics.ts'
import { watchClock } from './periodic.ts'

test('a clock that is set a day ahead and back is told twice, and one that NTP corrects is not', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const dayMs = 86_400_000
  const times = { wall: Date.parse('2026-01-01T00:00:00Z'), mono: 1000 }
  const clock = { now: () => times.wall, monotonic: () => times.mono }
  const records: AuditEvent[] = []
  const told: unknown[] = []
  const metrics = createMetrics()
  const stop = watchClock({
    clock,
    metrics,
    log: { ...quietLog, warn: (fields) => void told.push(fields) },
    record: (event) => void records.push(event),
  })
  const pass = (jumpMs = 0): void => {
    times.mono += 5000
    times.wall += 5000 + jumpMs
    t.mock.timers.tick(5000)
  }
  pass()
  pass(2000)
  pass(-9000)
  assert.deepEqual(records, [])
  pass(dayMs)
  pass()
  pass(-dayMs)
  pass()
  assert.deepEqual(
    records.map(({ operation, details }) => [operation, details]),
    [
      ['clock.jumped', { from: '2026-01-01T00:00:08.000Z', to: '2026-01-02T00:00:13.000Z', seconds: 86_393 }],
      [
        'clock.jumped',
        { from: '2026-01-02T00:00:18.000Z', to: '2026-01-01T00:00:23.000Z', seconds: -86_400 },
      ],
    ],
  )
  assert.equal(told.length, 2)
  stop()
  pass(dayMs)
  assert.equal(told.length, 2)
})
