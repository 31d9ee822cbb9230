// Loaded before each test file by `npm test`: properties draw the same samples in every run, so that a run that passes
// here passes elsewhere. WARDER_TEST_SEED=N draws others, WARDER_TEST_SEED=random new ones in every run.
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const asked = process.env.WARDER_TEST_SEED ?? '20261123'
const testFile = process.argv[1]
if (
  isMainThread &&
  asked !== 'random' &&
  testFile !== undefined &&
  readFileSync(testFile, 'utf8').includes("from 'fast-check'")
) {
  const seed = Number(asked)
  if (!Number.isInteger(seed)) throw new Error(`WARDER_TEST_SEED is a whole number or random, not ${asked}`)
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ seed })
}
