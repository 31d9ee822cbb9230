import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOldCovercrypt, runCloudproof } from './cloudproof.ts'

test('cloudproof_kms_js 4.0.0, unmodified, does everything it offers but what needs the Covercrypt of before', async (context) => {
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
  assert.equal(covered.length, 32)
  const refusals = run.steps.filter(({ step }) => isOldCovercrypt(step)).map(({ why = '' }) => why)
  assert.match(refusals[0] ?? '', /cover_crypt_policy is the policy of Covercrypt before version 16/)
  assert.match(refusals[1] ?? '', /the items must follow the policy, without header metadata/)
  assert.match(refusals[2] ?? '', /neither a master key nor a user key of Covercrypt 16/)
  assert.equal(refusals.length, 3)
})
