import { it } from 'node:test'
import { startTestPostgres } from '@warder/foundation/sql/testing'
import { usePostgres } from './testing/start.ts'

/** The scenarios again, on PostgreSQL: what holds for one engine holds for the other. */
const server = await startTestPostgres()
if ('missing' in server) {
  it('PostgreSQL', { skip: server.missing }, () => {})
} else {
  usePostgres(() => server.database())
  await import('./login/first-run.test.ts')
  await import('./realms/realms.test.ts')
  await import('./credentials/credentials.test.ts')
  await import('./login/login.test.ts')
  await import('./sessions/sessions.test.ts')
  await import('./admins/admins.test.ts')
  await import('./totp/totp.test.ts')
  await import('./machines/machines.test.ts')
  await import('./machines/orchestrator.test.ts')
  // Last of the suites: the server of the databases ends with the process.
  it('PostgreSQL was used', () => {})
}
