import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { bothEngines } from '@warder/kms/testing'
import {
  currentKid,
  encrypted,
  type MicrosoftWorld,
  olderKid,
  owner,
  secret,
  startMicrosoft,
} from './testing/world.ts'

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: a new version may be known to one first, and rights and stops count on both`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const rootKey = randomBytes(32)
    const config = { cache_lease_ms: 0 }
    await using near = await startMicrosoft({ db: await engine.open(url), rootKey, config })
    await using far = await startMicrosoft({
      db: await engine.open(url),
      rootKey,
      issuers: near.issuers,
      keys: false,
      config: { ...config, 'ms_dke_config.ms_dke_keys': [`finance=${olderKid}`] },
    })
    const tagged = await near.kms
      .user(owner)
      .post(`/v1/crypto/keys/${currentKid}/tags`, { tags: ['dke:finance'] })
    assert.equal(tagged.status, 200)
    const decrypt = async (node: MicrosoftWorld, value: string, kid: string) =>
      node.decrypt(await node.token(), { alg: 'RSA-OAEP-256', value }, kid)
    const fresh = encrypted(await near.publicKey())
    const older = encrypted(await far.publicKey())
    for (const node of [near, far]) {
      assert.deepEqual((await decrypt(node, fresh, currentKid)).json, { value: secret.toString('base64') })
      assert.deepEqual((await decrypt(node, older, olderKid)).json, { value: secret.toString('base64') })
    }
    const granted = {
      unique_identifier: currentKid,
      user_id: 'microsoft:alice@contoso.com',
      operation_types: ['decrypt'],
    }
    assert.equal((await near.kms.user(owner).post('/access/revoke', granted)).status, 200)
    for (const node of [near, far]) assert.equal((await decrypt(node, fresh, currentKid)).status, 403)
    const admin = near.kms.user('admin')
    assert.equal((await admin.post('/v1/external-stores/microsoft/stop', {})).status, 200)
    for (const node of [near, far]) {
      const { status, json } = await decrypt(node, older, olderKid)
      assert.equal(status, 403)
      assert.match(json.description, /stopped Double Key Encryption/)
    }
  })
}
