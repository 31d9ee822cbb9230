import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { bothEngines } from '@warder/kms/testing'
import {
  dataKey,
  type GoogleWorld,
  giveWrappingKey,
  owner,
  startGoogle,
  wrappingKid,
} from './testing/world.ts'

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: what one wraps the other opens, and a stop or a destroyed key counts on both`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const rootKey = randomBytes(32)
    const config = { cache_lease_ms: 0 }
    await using near = await startGoogle({ db: await engine.open(url), rootKey, config })
    await giveWrappingKey(near.kms, 'next-version')
    await using far = await startGoogle({
      db: await engine.open(url),
      rootKey,
      issuers: near.issuers,
      keys: false,
      config: { ...config, 'google_cse_config.google_cse_key': 'next-version' },
    })
    const wrap = async (node: GoogleWorld) => node.post('wrap', { ...(await node.tokens()), key: dataKey })
    const unwrap = async (node: GoogleWorld, wrapped_key: string) =>
      node.post('unwrap', { ...(await node.tokens()), wrapped_key })

    // The far node was told of the next version first.
    const [old, fresh] = [(await wrap(near)).json.wrapped_key, (await wrap(far)).json.wrapped_key]
    for (const node of [near, far])
      for (const wrapped of [old, fresh]) assert.equal((await unwrap(node, wrapped)).json.key, dataKey)
    const authorization = await near.authorization({ role: 'verifier' }, { application: 'migration' })
    const hashes = [
      (await near.post('digest', { authorization, wrapped_key: old })).json.resource_key_hash,
      (await far.post('digest', { authorization, wrapped_key: fresh })).json.resource_key_hash,
    ]
    assert.equal(hashes[0], hashes[1])
    assert.deepEqual((await near.get('certs')).json, (await far.get('certs')).json)

    const admin = near.kms.user('admin')
    assert.equal((await admin.post('/v1/external-stores/google/stop', {})).status, 200)
    for (const node of [near, far]) assert.equal((await wrap(node)).status, 403)
    assert.equal((await admin.post('/v1/external-stores/google/start', {})).status, 200)
    for (const node of [near, far]) assert.equal((await wrap(node)).status, 200)

    assert.equal((await near.kms.user(owner).del(`/v1/crypto/keys/${wrappingKid}`)).status, 204)
    for (const node of [near, far]) assert.ok((await unwrap(node, old)).status >= 400)
    assert.equal((await unwrap(far, fresh)).status, 200)
  })
}
