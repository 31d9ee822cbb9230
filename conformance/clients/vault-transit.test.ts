import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { canRun } from './run-program.ts'
import { driveTransit } from './vault-transit.ts'

const folder = process.env.WARDER_HVAC
const env: Readonly<Record<string, string>> = folder === undefined ? {} : { PYTHONPATH: folder }
const skip = canRun('python3', ['-c', 'import hvac'], env)
  ? false
  : 'hvac is not here: pip install --target FOLDER hvac, and set WARDER_HVAC to the folder'

test('hvac, a client of Vault, uses keys over the transit interface (issue 20)', { skip }, async () => {
  const { code, err, steps } = await driveTransit(env)
  assert.equal(code, 0, err)
  const told = (step: string) => steps.find((one) => one.step === step)
  assert.equal(told('rotate and rewrap')?.form, 'v2')
  assert.equal(told('random and hash')?.sum, createHash('sha256').update('attack at dawn').digest('hex'))
  assert.equal(steps.at(-1)?.step, 'a foreign token', err)
})
