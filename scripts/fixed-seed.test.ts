import assert from 'node:assert/strict'
import test from 'node:test'

import fc from 'fast-check'

test('properties draw from the seed of the run, unless it is asked for new ones', () => {
  const asked = process.env.WARDER_TEST_SEED ?? '20261123'
  const expected = asked === 'random' ? undefined : Number(asked)
  assert.equal(fc.readConfigureGlobal().seed, expected)
})
