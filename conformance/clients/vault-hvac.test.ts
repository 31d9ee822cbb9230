import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startInstallation } from 'warder/testing'
import { canRun, runProgram } from './run-program.ts'

const folder = process.env.WARDER_HVAC
const env = folder === undefined ? {} : { PYTHONPATH: folder }
const script = fileURLToPath(new URL('./vault-hvac.py', import.meta.url))
const skip = canRun('python3', ['-c', 'import hvac'], env)
  ? false
  : 'hvac is not here: pip install --target FOLDER hvac, and set WARDER_HVAC to the folder'

const role = '/v1/auth/approle/role/ops'

test('hvac, a client of Vault, administers roles and lives as a machine (issue 13 item 14)', {
  skip,
}, async () => {
  const warder = await startInstallation()
  const auth = warder.client('auth')
  try {
    const headers = { cookie: `_ea_=${await warder.adminToken()}` }
    const fields = { token_policies: 'machine-roles-admin', bind_secret_id: false }
    assert.equal((await auth.ask(role, { json: fields, headers })).status, 204)
    const { data } = JSON.parse((await auth.ask(`${role}/role-id`, { headers })).text)
    const login = await auth.ask('/v1/auth/approle/login', { json: { role_id: data.role_id } })
    const { client_token: token } = JSON.parse(login.text).auth
    const { code, out, err } = await runProgram('python3', [script, warder.authUrl, warder.caFile, token], {
      env,
    })
    assert.equal(code, 0, err)
    const steps = out
      .toString('utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly step: string; readonly [member: string]: unknown })
    const told = (step: string) => steps.find((one) => one.step === step)
    assert.deepEqual(told('list roles')?.keys, ['ops', 'printer', 'till'])
    const { token_ttl, secret_id_ttl, token_policies } = told('read role') ?? assert.fail()
    assert.deepEqual([token_ttl, secret_id_ttl, token_policies], [3600, 172_800, ['sales', 'stock']])
    assert.deepEqual(told('log in')?.policies, ['sales', 'stock'])
    assert.equal(steps.at(-1)?.step, 'a policy over roles', err)
  } finally {
    auth.close()
    await warder.stop()
  }
})
