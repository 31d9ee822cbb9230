import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { knownHash, startAuth } from '../../testing/start.ts'
import { credentialInsertion } from './credential-store.ts'

it('extra claims cannot set email or email_verified, by which relying parties may identify users', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { as, asSuper, realm, logIn } = scene(auth)
  await realm('r')
  const user = { username: 'ann', password_input: { hashed: knownHash } }
  for (const extra_claims of [{ email: 'boss@example.com' }, { email_verified: true }]) {
    const answer = await asSuper('POST', '/realms/r/userpass', { ...user, extra_claims })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /is a reserved claim name/)
  }
  // The claims were set before the names became reserved.
  const extraClaims = { email: 'boss@example.com', email_verified: true, team: 'blue' }
  const older = { realm: 'r', username: 'bob', passwordHash: knownHash, changePassword: false, roles: [] }
  await auth.db.commit([credentialInsertion({ ...older, extraClaims })])
  const claims = (await as(await logIn('r', 'bob'), 'GET', '/whoami')).json
  assert.deepEqual([claims.team, claims.email, claims.email_verified], ['blue', undefined, undefined])
})
