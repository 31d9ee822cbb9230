import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram, runSops } from './vault-programs.ts'

test('sops uses keys of the transit interface, over a rotation', {
  skip: missingProgram('sops'),
}, async () => {
  const run = await runSops()
  assert.ok('steps' in run && run.steps.length > 0)
  assert.deepEqual(
    run.steps.filter(({ passed }) => !passed),
    [],
  )
})
