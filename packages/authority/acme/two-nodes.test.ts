import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, makeAuthorities, startTwoNodes } from '@warder/kms/testing'
import { acmeClient } from './testing/client.ts'
import { signed } from './testing/signer.ts'

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: a nonce of one serves on the other, once`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const { near, far } = nodes
    const alice = near.user('alice')
    const { issuing } = await makeAuthorities(alice)
    const path = `/v1/pki/authorities/${issuing.id}/acme`
    assert.equal((await alice.call('PUT', path, { json: {} })).status, 200)
    const credential = (await alice.post(`${path}/credentials`, {})).json
    const here = acmeClient(near.with({}), issuing.id)
    assert.equal((await here.register(credential)).status, 201)
    const there = acmeClient(far.with({}), issuing.id, here.key)
    assert.equal((await there.register()).status, 200, 'the account is known there')
    const url = here.url('new-order')
    const body = signed(
      here.key,
      { nonce: await here.nonce(), url, kid: here.kid },
      { identifiers: [{ type: 'dns', value: 'a.test' }] },
    )
    const both = await Promise.all([here.send(url, body), there.send(url, body)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 400])
    assert.match(both.map(({ text }) => text).join(), /badNonce/)
    const order = both.find(({ status }) => status === 201)
    const seen = await there.post(String(order?.headers.location), '')
    assert.equal(seen.json.status, 'pending')
  })
}
