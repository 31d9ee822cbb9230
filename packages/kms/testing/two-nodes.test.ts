import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from './client.ts'
import { bothEngines, startTwoNodes } from './engines.ts'

const data = Buffer.from('attack at dawn').toString('base64url')

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: a key that one revokes or destroys is refused by the other on the next request`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { near, far, onFar: as } = nodes
    const alice = near.user('alice')
    const bob = as('bob')
    const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['t'] })).json
    const encrypt = { kid, alg: 'dir', enc: 'A256GCM', data }

    assert.equal((await as('alice').post('/v1/crypto/encrypt', encrypt)).status, 200)
    assert.equal((await bob.post('/v1/crypto/encrypt', encrypt)).status, 404)
    const granted = { unique_identifier: kid, user_id: 'bob', operation_types: ['encrypt'] }
    assert.equal((await alice.post('/access/grant', granted)).status, 200)
    const sealed = await bob.post('/v1/crypto/encrypt', encrypt)
    assert.equal(sealed.status, 200, sealed.text)
    assert.equal((await alice.post('/v1/crypto/decrypt', sealed.json)).json.data, data)
    assert.deepEqual((await bob.get('/access/obtained')).json, [
      { object_id: kid, owner_id: 'alice', state: 'Active', operations: ['encrypt'] },
    ])
    assert.equal((await alice.post('/access/revoke', granted)).status, 200)
    assert.equal((await bob.post('/v1/crypto/encrypt', encrypt)).status, 404)

    const pair = (await alice.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })).json
    const published = (await far.with({}).get('/.well-known/jwks.json')).json.keys
    assert.deepEqual(
      published.map((jwk: { kid: string }) => jwk.kid),
      [pair.kid_public],
    )
    assert.equal((await as('alice').get('/access/owned?limit=3')).json.length, 3)
    assert.equal((await alice.post(`/v1/crypto/keys/${kid}/tags`, { tags: ['u'] })).status, 200)
    assert.deepEqual((await as('alice').get(`/v1/crypto/keys/${kid}/tags`)).json.tags, ['t', 'u'])

    // Both nodes destroy it at once: one of them does.
    const gone = await Promise.all([
      alice.del(`/v1/crypto/keys/${kid}`),
      as('alice').del(`/v1/crypto/keys/${kid}`),
    ])
    assert.deepEqual(gone.map(({ status }) => status).sort(), [204, 404])
    for (const caller of [alice, as('alice')]) {
      assert.equal((await caller.post('/v1/crypto/encrypt', encrypt)).status, 404)
    }
    assert.equal((await alice.del(`/v1/crypto/keys/${pair.kid}`)).status, 204)
    assert.deepEqual((await far.with({}).get('/.well-known/jwks.json')).json.keys, [])
  })

  test(`two nodes on ${engine.name}: a rotation by policy on one takes effect on the other at once`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const near = nodes.near.user('alice')
    const far = nodes.onFar('alice')
    const made = async (caller: Caller, member: object): Promise<Readonly<Record<string, string>>> => {
      const reply = await caller.post('/v1/crypto/keys', { kty: 'ABE', ...member })
      assert.equal(reply.status, 200, reply.text)
      return reply.json
    }
    const pair = await made(near, { access_structure: { Team: ['Blue', 'Red'] } })
    const blue = await made(far, { master: pair.kid, policy: 'Team::Blue' })
    const seal = async (caller: Caller, policy: string) =>
      (
        await caller.post('/v1/crypto/encrypt', {
          kid: pair.kid_public,
          alg: 'ABE',
          enc: 'A256GCM',
          policy,
          data,
        })
      ).json
    const open = async (caller: Caller, sealed: object) => {
      const { status, json } = await caller.post('/v1/crypto/decrypt', { ...sealed, kid: blue.kid })
      return status === 200 ? json.data : status
    }
    const old = await seal(far, 'Team::Blue')
    assert.equal(await open(near, old), data)
    const rotate = (caller: Caller, action: object) =>
      caller.post(`/v1/crypto/keys/${pair.kid}/rotate`, action)
    assert.equal((await rotate(near, { RekeyAccessPolicy: 'Team::Blue' })).status, 200)
    // Sealed by the node that did not rotate: with the new public key, so that a pruned key opens it.
    const fresh = await seal(far, 'Team::Blue')
    assert.equal((await rotate(far, { PruneAccessPolicy: 'Team::Blue' })).status, 200)
    for (const caller of [near, far]) {
      assert.equal(await open(caller, fresh), data)
      assert.equal(await open(caller, old), 422)
    }

    // Both nodes rotate and create user keys at once: none is lost, and all of them decrypt later ciphertexts.
    const [first, second] = await Promise.all([
      made(near, { master: pair.kid, policy: 'Team::Red' }),
      made(far, { master: pair.kid, policy: 'Team::Red' }),
      rotate(near, { RekeyAccessPolicy: 'Team::Blue' }),
      rotate(far, { RekeyAccessPolicy: 'Team::Red' }),
    ])
    assert.equal((await rotate(near, { RekeyAccessPolicy: '*' })).status, 200)
    const red = await seal(near, 'Team::Red')
    for (const { kid } of [first, second])
      assert.equal((await far.post('/v1/crypto/decrypt', { ...red, kid })).json.data, data)
    assert.equal((await rotate(far, { DisableAttribute: ['Team::Red'] })).status, 200)
    const refused = { kid: pair.kid_public, alg: 'ABE', enc: 'A256GCM', policy: 'Team::Red', data }
    assert.equal((await near.post('/v1/crypto/encrypt', refused)).status, 422)
  })
}
