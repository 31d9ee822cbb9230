import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { missingSofthsm } from '@warder/pkcs11/testing'
import { findHvac } from './hvac.ts'
import { driveTransit } from './vault-transit.ts'

const hvac = await findHvac()
const skip = 'missing' in hvac ? hvac.missing : false

test('hvac, a client of Vault, uses keys over the transit interface', { skip }, async () => {
  assert.ok('env' in hvac)
  const { code, err, steps } = await driveTransit(hvac.env)
  assert.equal(code, 0, err)
  const findStep = (step: string) => steps.find((one) => one.step === step)
  assert.equal(findStep('rotate and rewrap')?.form, 'v2')
  assert.equal(findStep('random and hash')?.sum, createHash('sha256').update('attack at dawn').digest('hex'))
  if (missingSofthsm === false) assert.ok(findStep('keys in an HSM'))
  assert.equal(steps.at(-1)?.step, 'a foreign token', err)
})
