import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram, Registry } from 'prom-client'
import { bounds, createDurations } from './metrics.ts'

test('durations are exposed as the histogram of prom-client exposes them, also on the bounds', async () => {
  const seconds = fc.oneof(fc.constantFrom(0, ...bounds), fc.double({ min: 0, max: 100, noNaN: true }))
  const observed = fc.array(fc.record({ operation: fc.constantFrom('a', 'b"c'), seconds }), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(observed, async (observations) => {
      const [ours, theirs] = [new Registry(), new Registry()]
      const durations = createDurations('seconds', 'Time.', ours)
      const reference = new Histogram({
        name: 'seconds',
        help: 'Time.',
        labelNames: ['operation'],
        buckets: [...bounds],
        registers: [theirs],
      })
      for (const { operation, seconds } of observations) {
        durations.of(operation).add(seconds)
        reference.observe({ operation }, seconds)
      }
      assert.deepEqual((await ours.metrics()).split('\n').sort(), (await theirs.metrics()).split('\n').sort())
      assert.deepEqual(
        (await ours.getMetricsAsJSON()).map(({ name, aggregator }) => [name, aggregator]),
        (await theirs.getMetricsAsJSON()).map(({ name, aggregator }) => [name, aggregator]),
      )
    }),
    { numRuns: 50 },
  )
})
