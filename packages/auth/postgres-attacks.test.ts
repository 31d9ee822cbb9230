import { after, it } from 'node:test'
import { startTestPostgres } from '@warder/foundation/sql/testing'
import { usePostgres } from './testing/start.ts'

/** Attacks, races, conditions and the guide again, on PostgreSQL, whose transactions run side by side. */
const server = await startTestPostgres()
if ('missing' in server) {
  it('PostgreSQL', { skip: server.missing }, () => {})
} else {
  usePostgres(server)
  after(() => server.stop())
  await import('./at-once.test.ts')
  await import('./audit.test.ts')
  await import('./certify/certify.test.ts')
  await import('./conditions.test.ts')
  await import('./counting/metrics.test.ts')
  await import('./methods/password/deletion.test.ts')
  await import('./guide.test.ts')
  await import('./large-bodies.test.ts')
  await import('./login/authorization.test.ts')
  await import('./methods/jwt/bearer.test.ts')
  await import('./methods/certificate/client-certificate.test.ts')
  await import('./methods/saml/checks.test.ts')
  await import('./methods/saml/nodes.test.ts')
  await import('./login/enumeration.test.ts')
  await import('./methods/jwt/forged-tokens.test.ts')
  await import('./login/guessing.test.ts')
  await import('./methods/jwt/key-sets.test.ts')
  await import('./machines/aliases.test.ts')
  await import('./machines/sweeps.test.ts')
  await import('./operations.test.ts')
  await import('./texts/plain-text.test.ts')
  await import('./query-plans.test.ts')
  await import('./sessions/cookies.test.ts')
  await import('./signing/lost-key.test.ts')
  await import('./methods/jwt/subjects.test.ts')
  await import('./throttle/failures.test.ts')
  await import('./methods/totp/algorithms.test.ts')
  await import('./two-nodes.test.ts')
}
