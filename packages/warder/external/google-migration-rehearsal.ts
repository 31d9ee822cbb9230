import { createHmac, randomBytes } from 'node:crypto'
import { problemOf } from './google-answers.ts'
import type { Rehearsal } from './google-callers.ts'

/** Keys are moved here from another key service, which checks our token by our certs, and to it again. */
export async function rehearseMigration(rehearsal: Rehearsal): Promise<void> {
  const { ask, parties, exchange, user, authentication, authorization, kaclsUrl } = rehearsal
  const { expect, step } = exchange
  const dataKey = randomBytes(32)
  const key = dataKey.toString('base64')
  const resourceName = 'rehearsal/moved'
  const resource_name = resourceName
  const ofGoogle = (role: string) => authorization('migration', { resource_name, role })
  const there = randomBytes(64).toString('base64')
  parties.holdKey({ ask, kaclsUrl, resourceName, wrappedKey: there, key })
  const moving = { authorization: ofGoogle('migrator'), reason: 'migration', wrapped_key: there }
  const moved = await ask('rewrap', { ...moving, original_kacls_url: parties.peerUrl })
  const hash = createHmac('sha256', dataKey).update(`ResourceKeyDigest:${resource_name}:`).digest('base64')
  const { resource_key_hash, wrapped_key } = moved.json
  const same = resource_key_hash === hash ? undefined : 'the hash is another'
  step('rewrap, from another key service', problemOf(moved, 200) ?? same)
  const digest = await ask('digest', { authorization: ofGoogle('verifier'), wrapped_key })
  expect('digest, for a verifier', digest, 200, ['resource_key_hash', hash])
  const opened = await ask('unwrap', {
    authentication: authentication(user),
    authorization: authorization('drive', { resource_name, role: 'reader' }),
    wrapped_key,
  })
  expect('unwrap of what was moved', opened, 200, ['key', key])
  const foreign = await ask('rewrap', { ...moving, original_kacls_url: 'https://stranger.rehearsal.invalid' })
  expect('a key service that settings do not name is not asked', foreign, 403)

  const tokenOfPeer = (claims: object) =>
    parties.token('peer', { aud: 'kacls-migration', kacls_url: kaclsUrl, resource_name, ...claims })
  const asPeer = (claims = {}) => ({
    authentication: tokenOfPeer(claims),
    resource_name,
    reason: '',
    wrapped_key,
  })
  const given = await ask('privilegedunwrap', asPeer())
  expect('privilegedunwrap, for another key service', given, 200, ['key', key])
  const other = await ask('privilegedunwrap', asPeer({ resource_name: 'rehearsal/other' }))
  expect('its token for another resource is refused', other, 403)
}
