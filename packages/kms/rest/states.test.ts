import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findObject, lifeCycleChanges, type ObjectId, type State } from '@warder/keys'
import { kmsService } from '../service/service.ts'
import { startSharedKms } from '../testing/start.ts'

let now = Date.now()
const kms = await startSharedKms({ clock: { now: () => now, monotonic: () => performance.now() } })
const alice = kms.user('alice')

const data = Buffer.from('attack at dawn').toString('base64url')
const make = async (body: object) => (await alice.post('/v1/crypto/keys', body)).json

interface Dates {
  readonly activationAt?: number
  readonly deactivationAt?: number
}

/** Writes a state as KMIP operations do. */
async function put(id: ObjectId, state: State, dates: Dates = {}): Promise<void> {
  const { db } = kms.environment
  const object = await findObject(db, id)
  assert.ok(object)
  const cycle = { ...object, activationAt: undefined, deactivationAt: undefined, ...dates, state }
  await db.commit(lifeCycleChanges(db, object, cycle, now))
}

test('the next request obeys the state of the key', async () => {
  const aes = await make({ kty: 'oct', alg: 'A256GCM' })
  const hmac = await make({ kty: 'oct', alg: 'HS256' })
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const rsa = await make({ kty: 'RSA' })
  const encrypt = (kid: string, alg: string) => ['encrypt', { kid, alg, enc: 'A256GCM', data }] as const
  const sealed = (await alice.post('/v1/crypto/encrypt', encrypt(aes.kid, 'dir')[1])).json
  const wrapped = (await alice.post('/v1/crypto/encrypt', encrypt(rsa.kid, 'RSA-OAEP')[1])).json
  const signed = (await alice.post('/v1/crypto/sign', { kid: pair.kid, alg: 'ES256', data })).json
  const { mac } = (await alice.post('/v1/crypto/mac', { kid: hmac.kid, alg: 'HS256', data })).json
  const protects = [
    encrypt(aes.kid, 'dir'),
    encrypt(rsa.kid, 'RSA-OAEP'),
    ['sign', { kid: pair.kid, alg: 'ES256', data }],
    ['mac', { kid: hmac.kid, alg: 'HS256', data }],
  ] as const
  const processes = [
    ['decrypt', sealed],
    ['decrypt', wrapped],
    ['keys/unwrap', { protected: wrapped.protected, encrypted_key: wrapped.encrypted_key }],
    ['verify', { ...signed, data }],
    ['mac', { kid: hmac.kid, alg: 'HS256', data, mac }],
  ] as const
  const matrix: readonly (readonly [State, boolean, boolean])[] = [
    ['PreActive', false, false],
    ['Deactivated', false, true],
    ['Compromised', false, true],
    ['Destroyed', false, false],
    ['Destroyed_Compromised', false, false],
    ['Active', true, true],
  ]
  for (const [state, mayProtect, mayProcess] of matrix) {
    for (const kid of [aes.kid, hmac.kid, pair.kid, pair.kid_public, rsa.kid, rsa.kid_public])
      await put(kid, state)
    for (const [cases, allowed] of [
      [protects, mayProtect],
      [processes, mayProcess],
    ] as const) {
      for (const [verb, body] of cases) {
        const answer = await alice.post(`/v1/crypto/${verb}`, body)
        assert.deepEqual(
          [answer.status, answer.json.error],
          allowed ? [200, undefined] : [422, 'crypto_failure'],
          `${state} ${verb}`,
        )
      }
    }
  }
})

test('dates take effect at their moment, and the new state is stored later', async () => {
  const { kid } = await make({ kty: 'oct', alg: 'A256GCM' })
  await put(kid, 'PreActive', { activationAt: now + 1000, deactivationAt: now + 2000 })
  const encrypt = async () =>
    (await alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).status
  assert.equal(await encrypt(), 422)
  now += 1000
  assert.equal(await encrypt(), 200)
  now += 1000
  assert.equal(await encrypt(), 422)
  assert.equal((await alice.get(`/v1/crypto/keys/${kid}`)).json.state, 'Deactivated')
  assert.equal((await findObject(kms.environment.db, kid))?.state, 'PreActive')
  for (const work of kmsService.periodic) await work.run(kms.environment)
  assert.equal((await findObject(kms.environment.db, kid))?.state, 'Deactivated')
})

test('a key that is not Active is not in the JWKS', async () => {
  const pair = await make({ kty: 'EC', crv: 'P-256', alg: 'ES256' })
  const shown = async () =>
    (await kms.with({}).get('/.well-known/jwks.json')).json.keys.some(
      (jwk: { kid: string }) => jwk.kid === pair.kid_public,
    )
  assert.equal(await shown(), true)
  for (const state of ['Deactivated', 'Compromised', 'Destroyed', 'PreActive'] as const) {
    await put(pair.kid_public, state)
    assert.equal(await shown(), false, state)
  }
})
