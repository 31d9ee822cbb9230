import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingPlugin, runVaultKubernetesKms } from './vault-kubernetes-kms.ts'

test('the KMS plugin of Kubernetes for Vault encrypts with a key of the transit interface, over rotations', {
  skip: missingPlugin(),
}, async () => {
  const run = await runVaultKubernetesKms()
  assert.ok('steps' in run && run.steps.length === 5)
  assert.deepEqual(
    run.steps.filter(({ passed }) => !passed),
    [],
  )
})
