import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram, runCosign } from './vault-programs.ts'

test('cosign uses keys of the transit interface, over a rotation', {
  skip: missingProgram('cosign'),
}, async () => {
  const run = await runCosign()
  assert.ok('steps' in run && run.steps.length > 0)
  assert.deepEqual(
    run.steps.filter(({ passed }) => !passed),
    [],
  )
})
