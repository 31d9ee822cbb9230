import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Caller } from './client.ts'
import { bothEngines, startTwoNodes } from './engines.ts'

const data = Buffer.from('attack at dawn').toString('base64url')
const readKid = (jwe: { readonly protected: string }): string =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString()).kid

const ofVersion = ['end', 'destroy', 'least', 'disable version', 'enable version', 'restore version'] as const
const ofKey = ['rotate', 'seal', 'disable', 'enable', 'remove', 'restore'] as const

type Step =
  | { readonly act: (typeof ofKey)[number] }
  | { readonly act: (typeof ofVersion)[number]; readonly place: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Step>({ act: 'rotate' }, { act: 'seal' }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom(...ofKey) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom(...ofVersion), place: fc.nat(9) }) },
)

/** A version as the model has it; the numbers are those of the orders that withhold it. */
interface Version {
  readonly kid: string
  state: 'Active' | 'Deactivated' | 'Destroyed'
  disabledBy?: number | undefined
  removedBy?: number | undefined
}

/** Expected state of a key: its versions, and which of them it lets process. */
interface Model {
  readonly versions: Version[]
  /** Destructions wait. */
  readonly waits: boolean
  minVersion: number
  orders: number
  readonly tokens: { readonly version: number; readonly jwe: { readonly protected: string } }[]
}

const isUsable = ({ state, disabledBy, removedBy }: Version): boolean =>
  state !== 'Destroyed' && disabledBy === undefined && removedBy === undefined

/** More for a long run: WARDER_LIFE_RUNS=200 npm test -- testing/versions */
const numRuns = Number(process.env.WARDER_LIFE_RUNS ?? 8)

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name}: a new version of one decrypts on the other at once, and one of two concurrent rotations succeeds`, {
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

  test(`two nodes on ${engine.name}: any operations on a key and its versions match the model`, {
    skip: engine.skip,
    timeout: 60_000 + numRuns * 2000,
  }, async () => {
    let now = Date.now()
    // No two orders come in one millisecond: that is how those that belong together are told.
    const clock = { now: () => ++now, monotonic: () => performance.now() }
    const rules = { pending_destruction_days_by: ['tag:waits=7'] }
    await using nodes = await startTwoNodes(engine, rules, { clock })
    const [near, far] = [nodes.near.user('alice'), nodes.onFar('alice')]
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), fc.boolean(), async (steps, waits) => {
        const tags = waits ? ['waits'] : []
        const { kid } = (await near.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags })).json
        const model: Model = {
          versions: [{ kid, state: 'Active' }],
          waits,
          minVersion: 1,
          orders: 0,
          tokens: [],
        }
        for (const [index, each] of steps.entries())
          await take(each, kid, model, index % 2 === 0 ? near : far)
        const { json } = await far.get(`/v1/crypto/keys/${kid}/versions`)
        const shown = json.versions.toReversed() as readonly Record<string, unknown>[]
        assert.deepEqual(
          shown.map((one) => [one.kid, one.state, 'disabled_at' in one, 'destruction_at' in one]),
          model.versions.map(({ kid: id, state, disabledBy, removedBy }) => [
            id,
            state,
            disabledBy !== undefined,
            removedBy !== undefined,
          ]),
        )
        for (const { version, jwe } of model.tokens) {
          const one = model.versions[version - 1]
          const opens = version >= model.minVersion && one !== undefined && isUsable(one)
          for (const who of [near, far])
            assert.equal((await who.post('/v1/crypto/decrypt', jwe)).status, opens ? 200 : 422)
        }
        const gone = (await near.del(`/v1/crypto/keys/${kid}`)).status
        if (gone === 202) assert.equal((await far.post('/v1/crypto/encrypt', sealing(kid))).status, 422)
        else
          for (const { kid: id } of model.versions)
            assert.equal((await near.get(`/v1/crypto/keys/${id}`)).status, 404)
        const [only, ...others] = model.versions
        const isEmpty = others.length === 0 && only?.state === 'Destroyed' && only.removedBy === undefined
        assert.equal(gone, waits && !isEmpty ? 202 : 204)
      }),
      { numRuns },
    )
  })
}

const sealing = (kid: string) => ({ kid, alg: 'dir', enc: 'A256GCM', data })

async function take(each: Step, kid: string, model: Model, who: Caller): Promise<void> {
  const { versions, waits } = model
  const [first, newest] = [versions[0], versions.at(-1)]
  assert.ok(first && newest)
  const path = `/v1/crypto/keys/${kid}`
  const number = 'place' in each ? 1 + (each.place % versions.length) : 1
  const version = versions[number - 1] ?? newest
  const order = ++model.orders
  const ask = async (verb: string, expected: boolean): Promise<boolean> => {
    const { status, text } = await who.post(`${path}${verb}`, {})
    assert.equal(status, expected ? 200 : 422, `${verb} ${text}`)
    return expected
  }
  const at = (verb: string, expected: boolean) => ask(`/versions/${number}/${verb}`, expected)
  switch (each.act) {
    case 'rotate': {
      const { status, json } = await who.post(`${path}/rotate`, {})
      assert.equal(status, isUsable(newest) ? 200 : 422)
      if (status === 200) versions.push({ kid: json.version_kid, state: 'Active' })
      return
    }
    case 'seal': {
      const { status, json } = await who.post('/v1/crypto/encrypt', sealing(kid))
      assert.equal(status, newest.state === 'Active' && isUsable(newest) ? 200 : 422)
      if (status !== 200) return
      const made = versions.findIndex((one) => one.kid === readKid(json)) + 1
      assert.equal(made, versions.length)
      model.tokens.push({ version: made, jwe: json })
      return
    }
    case 'disable':
      if (await ask('/disable', versions.length > 1 || first.state !== 'Destroyed'))
        for (const one of versions) one.disabledBy ??= order
      return
    case 'enable': {
      const by = newest.disabledBy
      if ((await ask('/enable', versions.length > 1 || first.state !== 'Destroyed')) && by !== undefined)
        for (const one of versions) if (one.disabledBy === by) one.disabledBy = undefined
      return
    }
    case 'remove': {
      // A version that does not wait is gone: that is how a run ends.
      if (!waits || (versions.length === 1 && first.state === 'Destroyed')) return
      assert.equal((await who.del(path)).status, 202)
      if (first.removedBy !== undefined && first.removedBy === newest.removedBy) return
      first.removedBy = order
      for (const one of versions) one.removedBy ??= order
      return
    }
    case 'restore': {
      const by = first.removedBy
      const isThere = versions.length > 1 || first.state !== 'Destroyed'
      if (await ask('/restore', isThere && by !== undefined))
        for (const one of versions) if (one.removedBy === by) one.removedBy = undefined
      return
    }
    case 'end':
      if (await at('revoke', version.state === 'Active')) version.state = 'Deactivated'
      return
    case 'destroy':
      if (!(await at('destroy', version.state !== 'Destroyed'))) return
      if (waits) version.removedBy ??= order
      else version.state = 'Destroyed'
      return
    case 'disable version':
      if (await at('disable', version.state !== 'Destroyed')) version.disabledBy ??= order
      return
    case 'enable version':
      if (await at('enable', version.state !== 'Destroyed')) version.disabledBy = undefined
      return
    case 'restore version': {
      const by = version.removedBy
      const withKey = version !== newest && newest.removedBy === by
      if (await at('restore', by !== undefined && !withKey)) version.removedBy = undefined
      return
    }
    case 'least': {
      const json = { min_decrypt_version: number }
      assert.equal((await who.call('PUT', `${path}/rotation`, { json })).status, 200)
      model.minVersion = number
    }
  }
}
