import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTime, UsageError } from './options.ts'

test('a time of the log is a date, or how long ago it was', () => {
  const now = Date.parse('2026-11-25T12:00:00Z')
  assert.equal(parseTime('before', '2026-01-01', now), Date.parse('2026-01-01T00:00:00Z'))
  assert.equal(parseTime('since', '90d', now), Date.parse('2026-08-27T12:00:00Z'))
  assert.equal(parseTime('since', '12h', now), Date.parse('2026-11-25T00:00:00Z'))
  for (const wrong of ['0d', '90x', '999999d', 'yesterday', ''])
    assert.throws(() => parseTime('before', wrong, now), UsageError)
})
