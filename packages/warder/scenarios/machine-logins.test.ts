import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInstallation } from '../testing/installation.ts'

const role = '/v1/auth/approle/role/job'

test('a machine logs in, uses a key and ends its token with the address of the kms alone', async () => {
  const warder = await startInstallation({ env: { KMS_VAULT_API_ENABLED: 'true' } })
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  try {
    const headers = { cookie: `_ea_=${await warder.adminToken()}` }
    const made = await auth.ask(role, { json: { bind_secret_id: false }, headers })
    assert.equal(made.status, 204, made.text)
    const { role_id } = JSON.parse((await auth.ask(`${role}/role-id`, { headers })).text).data
    const login = await kms.ask('/v1/auth/approle/login', { json: { role_id } })
    assert.equal(login.status, 200, login.text)
    const token = { 'x-vault-token': JSON.parse(login.text).auth.client_token }
    const look = () => kms.ask('/v1/auth/token/lookup-self', { headers: token })
    assert.equal(JSON.parse((await look()).text).data.entity_id, 'job')
    const me = await kms.ask('/me', { headers: token })
    assert.deepEqual(JSON.parse(me.text), { user: 'app:job' })
    assert.equal((await kms.ask('/v1/auth/approle/role', { headers })).status, 404)
    const ended = await kms.ask('/v1/auth/token/revoke-self', { method: 'POST', headers: token })
    assert.equal(ended.status, 204)
    assert.equal((await look()).status, 403)
    const wrong = await kms.ask('/v1/auth/approle/login', { json: { role_id: 'another' } })
    assert.deepEqual([wrong.status, JSON.parse(wrong.text).errors.length], [400, 1])
  } finally {
    auth.close()
    kms.close()
    await warder.stop()
  }
})
