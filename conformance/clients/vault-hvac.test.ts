import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findHvac } from './hvac.ts'
import { driveHvac } from './vault-hvac.ts'

const hvac = await findHvac()
const skip = 'missing' in hvac ? hvac.missing : false

test('hvac, a client of Vault, administers roles and lives as a machine', {
  skip,
}, async () => {
  assert.ok('env' in hvac)
  const { code, err, steps } = await driveHvac(hvac.env)
  assert.equal(code, 0, err)
  const findStep = (step: string) => steps.find((one) => one.step === step)
  assert.deepEqual(findStep('list roles')?.keys, ['ops', 'printer', 'till'])
  const { token_ttl, secret_id_ttl, token_policies } = findStep('read role') ?? assert.fail()
  assert.deepEqual([token_ttl, secret_id_ttl, token_policies], [3600, 172_800, ['sales', 'stock']])
  assert.deepEqual(findStep('log in')?.policies, ['sales', 'stock'])
  assert.equal(steps.at(-1)?.step, 'a policy over roles', err)
})
