import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Caller } from './client.ts'
import { bothEngines, startTwoNodes } from './engines.ts'

const data = Buffer.from('attack at dawn').toString('base64url')
const kidOf = (jwe: { readonly protected: string }): string =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString()).kid

type Step =
  | { readonly act: 'rotate' | 'seal' }
  | { readonly act: 'end' | 'destroy' | 'least'; readonly place: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Step>({ act: 'rotate' }, { act: 'seal' }) },
  fc.record({ act: fc.constantFrom('end', 'destroy', 'least'), place: fc.nat(9) }),
)

/** Expected state of a key: its versions, and which of them it lets process. */
interface Model {
  readonly versions: { readonly kid: string; state: 'Active' | 'Deactivated' | 'Destroyed' }[]
  least: number
  readonly tokens: { readonly version: number; readonly jwe: { readonly protected: string } }[]
}

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: a version that one makes opens on the other at once, and of rotations at once one wins`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const [near, far] = [nodes.near.user('alice'), nodes.onFar('alice')]
    const { kid } = (await near.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
    const seal = async (who: Caller) =>
      (await who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).json
    const tokens = [await seal(near), await seal(far)]
    for (let round = 0; round < 4; round += 1) {
      const rotated = await Promise.all(
        [near, far].map((who) => who.post(`/v1/crypto/keys/${kid}/rotate`, {})),
      )
      const made = rotated.filter(({ status }) => status === 200)
      assert.ok(made.length >= 1 && rotated.every(({ status }) => status === 200 || status === 409))
      const jwe = await seal(round % 2 === 0 ? near : far)
      tokens.push(jwe)
      const other = round % 2 === 0 ? far : near
      assert.equal((await other.post('/v1/crypto/decrypt', jwe)).json.data, data)
    }
    const { versions } = (await far.get(`/v1/crypto/keys/${kid}/versions`)).json
    assert.deepEqual(
      versions.map(({ version }: { version: number }) => version),
      Array.from({ length: versions.length }, (_, index) => versions.length - index),
    )
    assert.equal(versions.filter(({ newest }: { newest: boolean }) => newest).length, 1)
    for (const who of [near, far])
      for (const jwe of tokens) assert.equal((await who.post('/v1/crypto/decrypt', jwe)).json.data, data)
  })

  test(`two nodes on ${engine.name}: the life of a key is as its model says, whatever happens to its versions`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const [near, far] = [nodes.near.user('alice'), nodes.onFar('alice')]
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { kid } = (await near.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
        const model: Model = { versions: [{ kid, state: 'Active' }], least: 1, tokens: [] }
        for (const [index, each] of steps.entries())
          await take(each, kid, model, index % 2 === 0 ? near : far)
        const { json } = await far.get(`/v1/crypto/keys/${kid}/versions`)
        assert.deepEqual(
          json.versions.map((one: { kid: string; state: string }) => [one.kid, one.state]).toReversed(),
          model.versions.map((one) => [one.kid, one.state]),
        )
        for (const { version, jwe } of model.tokens) {
          const opens = version >= model.least && model.versions[version - 1]?.state !== 'Destroyed'
          for (const who of [near, far])
            assert.equal((await who.post('/v1/crypto/decrypt', jwe)).status, opens ? 200 : 422)
        }
        assert.equal((await near.del(`/v1/crypto/keys/${kid}`)).status, 204)
        for (const { kid: id } of model.versions)
          assert.equal((await near.get(`/v1/crypto/keys/${id}`)).status, 404)
      }),
      { numRuns: 8 },
    )
  })
}

async function take(each: Step, kid: string, model: Model, who: Caller): Promise<void> {
  const newest = model.versions.at(-1)
  assert.ok(newest)
  const at = (place: number) => 1 + (place % model.versions.length)
  switch (each.act) {
    case 'rotate': {
      const { status, json } = await who.post(`/v1/crypto/keys/${kid}/rotate`, {})
      assert.equal(status, newest.state === 'Destroyed' ? 422 : 200)
      if (status === 200) model.versions.push({ kid: json.version_kid, state: 'Active' })
      return
    }
    case 'seal': {
      const body = { kid, alg: 'dir', enc: 'A256GCM', data }
      const { status, json } = await who.post('/v1/crypto/encrypt', body)
      assert.equal(status, newest.state === 'Active' ? 200 : 422)
      if (status !== 200) return
      // Another node may go on with the version before for as long as it trusts what it has read.
      const version = model.versions.findIndex((one) => one.kid === kidOf(json)) + 1
      assert.ok(version >= 1)
      model.tokens.push({ version, jwe: json })
      return
    }
    case 'end': {
      const version = model.versions[at(each.place) - 1]
      const path = `/v1/crypto/keys/${kid}/versions/${at(each.place)}/revoke`
      assert.equal((await who.post(path, {})).status, version?.state === 'Active' ? 200 : 422)
      if (version?.state === 'Active') version.state = 'Deactivated'
      return
    }
    case 'destroy': {
      const version = model.versions[at(each.place) - 1]
      const path = `/v1/crypto/keys/${kid}/versions/${at(each.place)}/destroy`
      assert.equal((await who.post(path, {})).status, version?.state === 'Destroyed' ? 422 : 200)
      if (version !== undefined) version.state = 'Destroyed'
      return
    }
    case 'least': {
      const json = { min_decrypt_version: at(each.place) }
      assert.equal((await who.call('PUT', `/v1/crypto/keys/${kid}/rotation`, { json })).status, 200)
      model.least = json.min_decrypt_version
    }
  }
}
