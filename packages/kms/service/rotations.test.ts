import assert from 'node:assert/strict'
import { test } from 'node:test'
import { change, query } from '@warder/storage'
import { type Started, startKms } from '../testing/start.ts'
import { kmsService } from './service.ts'

const hour = 3_600_000

async function look(kms: Started): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms rotations of keys')
  if (await job?.due?.(kms.environment)) await job?.run(kms.environment)
}

async function world() {
  const time = { now: Date.UTC(2026, 5, 1) }
  const kms = await startKms({ clock: { now: () => time.now, monotonic: () => time.now } })
  // A token of now: the clock moves.
  const alice = () => kms.user('alice')
  const { kid } = (await alice().post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const set = (json: object) => alice().call('PUT', `/v1/crypto/keys/${kid}/rotation`, { json })
  const version = async () => (await alice().get(`/v1/crypto/keys/${kid}`)).json.version
  return { kms, time, alice, kid, set, version }
}

test('a key is rotated when due, once per interval, with a line in the log', async () => {
  const { kms, time, alice, kid, set, version } = await world()
  await using _ = kms
  assert.equal((await set({ rotate_every: 60 })).status, 400)
  const said = (await set({ rotate_every: 86_400 })).json
  assert.equal(said.rotates_at, new Date(time.now + 24 * hour).toISOString())
  time.now += 24 * hour - 1000
  await look(kms)
  assert.equal(await version(), 1)
  time.now += 1000
  await look(kms)
  await look(kms)
  assert.equal(await version(), 2)
  const record = kms.audit.findLast(({ operation }) => operation === 'crypto.keys.rotation')
  assert.deepEqual([record?.object, record?.outcome, record?.principal], [kid, 'success', 'warder'])
  // A user rotates the key before: the interval starts again.
  time.now += 12 * hour
  await alice().post(`/v1/crypto/keys/${kid}/rotate`, {})
  time.now += 13 * hour
  await look(kms)
  assert.equal(await version(), 3)
  await set({ rotate_every: 0 })
  time.now += 240 * hour
  await look(kms)
  assert.equal(await version(), 3)
})

test('a clock that jumps ahead causes one rotation, and a corrected clock leaves no date in the far future', async () => {
  const { kms, time, set, version } = await world()
  await using _ = kms
  await set({ rotate_every: 86_400 })
  const before = time.now
  time.now += 365 * 24 * hour
  for (let turn = 0; turn < 3; turn += 1) await look(kms)
  assert.equal(await version(), 2)
  time.now = before + hour
  await look(kms)
  assert.equal(await version(), 2)
  time.now += 24 * hour
  await look(kms)
  assert.equal(await version(), 3)
})

test('a key is rotated before its AES-GCM message limit is reached', async () => {
  const { kms, alice, kid, set, version } = await world()
  await using _ = kms
  assert.equal((await set({ rotate_after_messages: 2 ** 31 })).json.rotate_after_messages, 2 ** 31)
  await look(kms)
  assert.equal(await version(), 1)
  const used = query<[number, string], unknown>('UPDATE gcm_budget SET reserved = ? WHERE object_id = ?')
  await kms.environment.db.commit([change(used, [2 ** 31, kid], 1)])
  await look(kms)
  await look(kms)
  assert.equal(await version(), 2)
  const sealed = await alice().post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGk' })
  assert.equal(sealed.status, 200)
  const pair = (await alice().post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })).json
  const json = { rotate_after_messages: 1000 }
  assert.equal((await alice().call('PUT', `/v1/crypto/keys/${pair.kid}/rotation`, { json })).status, 422)
})

test('a failed rotation is logged, does not prevent others, and is not repeated endlessly', async () => {
  const { kms, time, alice, set, version } = await world()
  await using _ = kms
  const other = (await alice().post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  await alice().call('PUT', `/v1/crypto/keys/${other}/rotation`, { json: { rotate_every: 86_400 } })
  await set({ rotate_every: 86_400 })
  assert.equal((await alice().post(`/v1/crypto/keys/${other}/disable`, {})).status, 200)
  time.now += 25 * hour
  for (let turn = 0; turn < 3; turn += 1) await look(kms)
  assert.equal(await version(), 2)
  const failures = kms.audit.filter(
    ({ operation, outcome }) => operation === 'crypto.keys.rotation' && outcome === 'failure',
  )
  assert.deepEqual(
    failures.map(({ object }) => object),
    [other],
  )
  assert.equal((await alice().post(`/v1/crypto/keys/${other}/enable`, {})).status, 200)
  time.now += 24 * hour
  await look(kms)
  assert.equal((await alice().get(`/v1/crypto/keys/${other}`)).json.version, 2)
})

test('a key that is due by use and cannot be rotated is logged once, counted, and rotated when possible', async () => {
  const { kms, alice, kid, set, version } = await world()
  await using _ = kms
  const gauges = new Map<string, () => number>()
  const counts: (string | undefined)[] = []
  const metrics = {
    ...kms.environment.metrics,
    gauge: (name: string, _help: string, read: () => number) => void gauges.set(name, read),
    count: (_name: string, labels?: { readonly outcome?: string }) => void counts.push(labels?.outcome),
  }
  const environment = { ...kms.environment, metrics }
  const lookAgain = async () => {
    const job = kmsService.periodic.find(({ name }) => name === 'kms rotations of keys')
    if (await job?.due?.(environment)) await job?.run(environment)
  }
  await set({ rotate_after_messages: 2 ** 31 })
  const used = query<[number, string], unknown>('UPDATE gcm_budget SET reserved = ? WHERE object_id = ?')
  await kms.environment.db.commit([change(used, [2 ** 31, kid], 1)])
  await alice().post(`/v1/crypto/keys/${kid}/disable`, {})
  const failures = () =>
    kms.audit.filter(
      ({ operation, outcome }) => operation === 'crypto.keys.rotation' && outcome === 'failure',
    )
  for (let turn = 0; turn < 3; turn += 1) await lookAgain()
  assert.deepEqual([failures().length, counts, gauges.get('keys_not_rotated')?.()], [1, ['failed'], 1])
  await alice().post(`/v1/crypto/keys/${kid}/enable`, {})
  await lookAgain()
  assert.deepEqual([await version(), gauges.get('keys_not_rotated')?.()], [2, 0])
  assert.equal(failures().length, 1)
  // A key that a user rotates is no longer counted either.
  const second = (await alice().get(`/v1/crypto/keys/${kid}/versions`)).json.versions[0].kid
  await kms.environment.db.commit([change(used, [2 ** 31, second], 1)])
  await alice().post(`/v1/crypto/keys/${kid}/disable`, {})
  await lookAgain()
  assert.equal(gauges.get('keys_not_rotated')?.(), 1)
  for (const verb of ['enable', 'rotate']) await alice().post(`/v1/crypto/keys/${kid}/${verb}`, {})
  for (let turn = 0; turn < 2; turn += 1) await lookAgain()
  assert.deepEqual([await version(), gauges.get('keys_not_rotated')?.()], [3, 0])
})
