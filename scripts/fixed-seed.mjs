// Loaded before each test file by `npm test`: properties draw the same samples in every run, so that a run that passes
// here passes elsewhere. WARDER_TEST_SEED=N draws others, WARDER_TEST_SEED=random new ones in every run.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const asked = process.env.WARDER_TEST_SEED ?? '20261123'
const testFile = process.argv[1]

/** A test file, or the module of several (`test-groups.ts`). */
function drawsSamples(file) {
  const text = readFileSync(file, 'utf8')
  const grouped = [...text.matchAll(/^ {2}"(file:[^"]+)",?$/gm)].map(([, url]) => fileURLToPath(url))
  const texts = [text, ...grouped.map((path) => readFileSync(path, 'utf8'))]
  return texts.some((source) => source.includes("from 'fast-check'"))
}

if (isMainThread && asked !== 'random' && testFile !== undefined && drawsSamples(testFile)) {
  const seed = Number(asked)
  if (!Number.isInteger(seed)) throw new Error(`WARDER_TEST_SEED is a whole number or random, not ${asked}`)
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ seed })
}
