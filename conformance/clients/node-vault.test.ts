import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runNodeVault, runTransitNodeVault } from './node-vault.ts'

test('node-vault logs in, looks itself up, renews and ends through the kms alone', async (context) => {
  const run = await runNodeVault()
  if ('missing' in run) return context.skip(run.missing)
  assert.deepEqual(
    run.steps.filter(({ passed }) => !passed),
    [],
  )
  assert.equal(run.steps.length, 6)
})

test('node-vault uses keys over the transit interface', async (context) => {
  const run = await runTransitNodeVault()
  if ('missing' in run) return context.skip(run.missing)
  assert.deepEqual(
    run.steps.filter(({ passed }) => !passed),
    [],
  )
  assert.equal(run.steps.length, 9)
})
