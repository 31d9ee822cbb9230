import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Answer } from '@warder/command-line/https-client'
import { startInstallation } from '../testing/installation.ts'

/** Guesses until the address has to wait for two seconds or more, which no slow machine takes for its next request. */
async function guessUntilWait(guess: () => Promise<Answer>): Promise<void> {
  for (let count = 0; count < 40; count += 1) {
    const { status, headers } = await guess()
    assert.ok(status === 401 || status === 429, `${status}`)
    if (Number(headers['retry-after'] ?? 0) >= 2) return
    if (status === 429) await setTimeout(250)
  }
  assert.fail('guesses do not make their address wait')
}

test('guesses through the kms slow down their address alone, and only the kms is believed about addresses', async () => {
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
    await guessUntilWait(() => login('wrong', '198.51.100.7'))
    assert.equal((await login(warder.password, '198.51.100.7')).status, 429, 'the guesser waits')
    assert.equal((await login(warder.password, '203.0.113.9')).status, 200, 'another address does not')

    const direct = (password: string, headers: Readonly<Record<string, string>>) => {
      const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
      return auth.ask('/login?realm=_', { json: {}, headers: { ...headers, authorization } })
    }
    const forged = { 'x-forwarded-for': '192.0.2.1', 'x-warder-peer': 'a'.repeat(43) }
    await guessUntilWait(() => direct('wrong', forged))
    assert.equal((await direct(warder.password, {})).status, 429, 'the address that it came from')
    assert.equal((await login(warder.password, '192.0.2.1')).status, 200, 'not the one that it claimed')
  } finally {
    auth.close()
    kms.close()
    await warder.stop()
  }
})
