import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInstallation } from '../testing/installation.ts'

test('a password that the kms checks at auth leaves no session there', async () => {
  const warder = await startInstallation({ env: { KMS_AUTH_VERIFIER_REALM: '_' } })
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  try {
    const json = { username: 'admin', password: warder.password }
    for (let count = 0; count < 3; count++) assert.equal((await kms.ask('/ui/login', { json })).status, 200)
    const authorization = `Basic ${Buffer.from(`admin:${warder.password}`).toString('base64')}`
    const login = await auth.ask('/login?realm=_', { json: {}, headers: { authorization } })
    const cookie = String(login.headers['set-cookie']).split(';')[0] ?? ''
    const sessions = await auth.ask('/sessions/realms/_', { headers: { cookie } })
    assert.equal(JSON.parse(sessions.text).sessions.length, 1, 'the one that asks')
  } finally {
    auth.close()
    kms.close()
    await warder.stop()
  }
})
