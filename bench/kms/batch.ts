import { parseArgs } from 'node:util'
import { startInstallation } from 'warder/testing'
import { batchGain, computeGain } from './batch-gain.ts'

/**
 * Measures the gain of batches for a program that uses `@warder/client`: values encrypted in a second by single calls and by
 * batches of a hundred, in turn, for one caller who waits for each answer and for several at a time.
 *
 * Run: `node bench/kms/batch.ts [--seconds 3] [--rounds 5]`
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, rounds: { type: 'string', default: '5' } },
})
const warder = await startInstallation({ env: { AUTH_WORKERS: '1', KMS_WORKERS: '1' } })
try {
  for (const callers of [1, 8]) {
    const gain = await batchGain(warder, {
      callers,
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
    })
    process.stdout.write(
      `${callers} at a time: ${Math.round(gain.oneByOne)} values/s one by one, ${Math.round(gain.inBatches)} in batches of 100: ${computeGain(gain).toFixed(1)} times\n`,
    )
  }
} finally {
  await warder.stop()
}
