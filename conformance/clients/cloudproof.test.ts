import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOldCovercrypt, runCloudproof } from './cloudproof.ts'

test('cloudproof_kms_js 4.0.0, unmodified, does everything it offers but the Covercrypt of before (issue 13 item 8)', async (context) => {
  const run = await runCloudproof()
  if ('missing' in run) {
    context.skip(run.missing)
    return
  }
  const covered = run.steps.filter(({ step }) => !isOldCovercrypt(step))
  assert.deepEqual(
    covered.filter(({ passed }) => !passed),
    [],
  )
  assert.equal(covered.length, 23)
  for (const { step, passed, why } of run.steps.filter(({ step }) => isOldCovercrypt(step))) {
    assert.equal(passed, false, step)
    assert.match(why ?? '', /"error":"bad_request"/, step)
  }
})
