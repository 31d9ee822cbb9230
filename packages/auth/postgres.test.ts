import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runOnPostgresql, startTestPostgres } from '@warder/storage/testing'
import { startAuth, usePostgres } from './testing/start.ts'

await runOnPostgresql(import.meta.dirname, [
  'login/first-run',
  'realms/realms',
  'realms/super-realm',
  'methods/password/credentials',
  'login/login',
  'sessions/sessions',
  'admins/admins',
  'methods/totp/totp',
  'methods/totp/own-totp',
  'methods/passkey/passkeys',
  'methods/passkey/attacks',
  'sessions/own-sessions',
  'machines/machines',
  'machines/orchestrator',
  'machines/vault-clients',
  'admins/races',
  'paging',
  'faults',
  'revocations/feed',
  'recover',
])

const server = await startTestPostgres({ own: true })
const skip = 'missing' in server ? server.missing : false

it('an unavailable PostgreSQL allows no login: 503 (A33)', { skip }, async () => {
  assert.ok('stop' in server)
  usePostgres(server)
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const cookie = await auth.superCookie()
  assert.equal(auth.db.dialect, 'postgresql')
  await server.stop()
  const basic = 'admin:correct horse'
  assert.equal((await auth.call('POST', '/login?realm=_', { basic })).status, 503)
  assert.equal((await auth.call('GET', '/whoami', { cookie })).status, 503)
  assert.equal((await auth.call('DELETE', '/admins/admin', { cookie })).status, 503)
  assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token: 'wt.x' })).status, 503)
})
