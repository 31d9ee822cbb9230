import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startInstallation } from '../testing/index.ts'

/** Failures after which an address has to wait. */
const failures = 5

test('who guesses through the kms slows down nobody else, and only the kms is believed about addresses', async () => {
  const warder = await startInstallation({
    env: { KMS_AUTH_VERIFIER_REALM: '_', KMS_AUDIT_TRUSTED_PROXY_CIDRS: '127.0.0.0/8' },
  })
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  try {
    const login = (password: string, address: string) =>
      kms.ask('/ui/login', {
        json: { username: 'admin', password },
        headers: { 'x-forwarded-for': address },
      })
    for (let count = 0; count < failures; count += 1)
      assert.equal((await login('wrong', '198.51.100.7')).status, 401)
    assert.equal((await login(warder.password, '198.51.100.7')).status, 429, 'the guesser waits')
    assert.equal((await login(warder.password, '203.0.113.9')).status, 200, 'somebody else does not')

    const direct = (password: string, headers: Readonly<Record<string, string>>) => {
      const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
      return auth.ask('/login?realm=_', { json: {}, headers: { ...headers, authorization } })
    }
    const forged = { 'x-forwarded-for': '192.0.2.1', 'x-warder-peer': 'a'.repeat(43) }
    for (let count = 0; count < failures; count += 1)
      assert.equal((await direct('wrong', forged)).status, 401)
    assert.equal((await direct(warder.password, {})).status, 429, 'the address that it came from')
    assert.equal((await login(warder.password, '192.0.2.1')).status, 200, 'not the one that it claimed')
  } finally {
    auth.close()
    kms.close()
    await warder.stop()
  }
})
