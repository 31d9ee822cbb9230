import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestPostgres } from '@warder/storage/testing'
import { startAuth, usePostgres } from './testing/start.ts'

/** Runs the scenarios again on PostgreSQL, which must behave the same. The last test stops the server. */
const server = await startTestPostgres({ own: true })
if ('missing' in server) {
  it('PostgreSQL', { skip: server.missing }, () => {})
} else {
  usePostgres(server)
  await import('./login/first-run.test.ts')
  await import('./realms/realms.test.ts')
  await import('./realms/super-realm.test.ts')
  await import('./methods/password/credentials.test.ts')
  await import('./login/login.test.ts')
  await import('./sessions/sessions.test.ts')
  await import('./admins/admins.test.ts')
  await import('./methods/totp/totp.test.ts')
  await import('./machines/machines.test.ts')
  await import('./machines/orchestrator.test.ts')
  await import('./machines/vault-clients.test.ts')
  await import('./admins/races.test.ts')
  await import('./paging.test.ts')
  await import('./faults.test.ts')
  await import('./revocations/feed.test.ts')
  await import('./recover.test.ts')
  // The last suite, because it stops the server.
  it('an unavailable PostgreSQL allows no login: 503 (A33)', async () => {
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
}
