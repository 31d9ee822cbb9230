import { createHmac, randomBytes } from 'node:crypto'
import { describeProblem } from './google-answers.ts'
import type { SelfTest } from './google-self-test-context.ts'

/** Tests the migration of keys from another key service, which verifies our token with our certs, and back to it. */
export async function testMigration(selfTest: SelfTest): Promise<void> {
  const { ask, providers, exchange, user, authentication, authorization, kaclsUrl } = selfTest
  const { expect, step } = exchange
  const dataKey = randomBytes(32)
  const key = dataKey.toString('base64')
  const resourceName = 'rehearsal/moved'
  const resource_name = resourceName
  const signMigrationToken = (role: string) => authorization('migration', { resource_name, role })
  const there = randomBytes(64).toString('base64')
  providers.holdKey({ ask, kaclsUrl, resourceName, wrappedKey: there, key })
  const moving = { authorization: signMigrationToken('migrator'), reason: 'migration', wrapped_key: there }
  const moved = await ask('rewrap', { ...moving, original_kacls_url: providers.peerUrl })
  const hash = createHmac('sha256', dataKey).update(`ResourceKeyDigest:${resource_name}:`).digest('base64')
  const { resource_key_hash, wrapped_key } = moved.json
  const same = resource_key_hash === hash ? undefined : 'the hash differs'
  step('rewrap, from another key service', describeProblem(moved, 200) ?? same)
  const digest = await ask('digest', { authorization: signMigrationToken('verifier'), wrapped_key })
  expect('digest, for a verifier', digest, 200, ['resource_key_hash', hash])
  const opened = await ask('unwrap', {
    authentication: authentication(user),
    authorization: authorization('drive', { resource_name, role: 'reader' }),
    wrapped_key,
  })
  expect('unwrap of a migrated key', opened, 200, ['key', key])
  const foreign = await ask('rewrap', {
    ...moving,
    original_kacls_url: 'https://untrusted.self-test.invalid',
  })
  expect('a key service that is not in the settings is not contacted', foreign, 403)

  const signPeerToken = (claims: object) =>
    providers.token('peer', { aud: 'kacls-migration', kacls_url: kaclsUrl, resource_name, ...claims })
  const buildPeerRequest = (claims = {}) => ({
    authentication: signPeerToken(claims),
    resource_name,
    reason: '',
    wrapped_key,
  })
  const given = await ask('privilegedunwrap', buildPeerRequest())
  expect('privilegedunwrap, for another key service', given, 200, ['key', key])
  const other = await ask('privilegedunwrap', buildPeerRequest({ resource_name: 'rehearsal/other' }))
  expect('a token of that key service for another resource is refused', other, 403)
}
