import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartupError } from '@warder/base'
import { loadConfig } from '@warder/runtime/settings'
import { change, query } from '@warder/storage'
import { bothEngines } from '../testing/engines.ts'
import { type Started, type StartOptions, startKms } from '../testing/start.ts'
import { webhookReceiver } from '../testing/webhook.ts'
import { rotationConfigSettings } from './key-life-settings.ts'
import { kmsService } from './service.ts'

const hour = 3_600_000
const day = 24 * hour

async function look(kms: Started): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms rotations of keys')
  if (await job?.due?.(kms.environment)) await job?.run(kms.environment)
}

async function world(policy: readonly string[], options: StartOptions = {}) {
  const time = { now: Date.UTC(2026, 5, 1) }
  const { told, outbound, config } = webhookReceiver()
  const kms = await startKms({
    clock: { now: () => time.now, monotonic: () => time.now },
    outbound,
    ...options,
    config: {
      ...config,
      'rotation.policy': policy,
      ...options.config,
    },
  })
  const alice = () => kms.user('alice')
  const make = async (tags: readonly string[] = [], more: object = {}) =>
    String((await alice().post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags, ...more })).json.kid)
  const version = async (kid: string) => (await alice().get(`/v1/crypto/keys/${kid}`)).json.version
  const rotation = async (kid: string) => (await alice().get(`/v1/crypto/keys/${kid}/rotation`)).json
  const set = (kid: string, json: object) => alice().call('PUT', `/v1/crypto/keys/${kid}/rotation`, { json })
  return { kms, time, told, alice, make, version, rotation, set }
}

for (const engine of await bothEngines()) {
  test(`${engine.name}: keys are rotated by the rules of the settings, which a key's own setting overrides`, {
    skip: engine.skip,
  }, async () => {
    const db = await engine.open(await engine.url())
    const { kms, time, told, alice, make, version, rotation, set } = await world(
      [
        '{"tag":"payments","every":"30d"}',
        'algorithm=AES, every=90d',
        'tag=payments, algorithm=RSA, every=10d',
      ],
      { db, config: { cache_lease_ms: 0 } },
    )
    await using _ = kms
    const [plain, tagged, own] = [await make(), await make(['payments']), await make(['payments'])]
    await set(own, { rotate_every: 3650 * 86_400 })
    const { json: pair } = await alice().post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })
    await look(kms)
    assert.deepEqual((await rotation(plain)).policy, { rotate_every: 90 * 86_400 })
    assert.deepEqual((await rotation(tagged)).policy, { rotate_every: 30 * 86_400 })
    assert.equal((await rotation(tagged)).rotates_at, new Date(time.now + 30 * day).toISOString())
    assert.equal((await rotation(own)).rotates_at, new Date(time.now + 3650 * day).toISOString())
    assert.equal((await rotation(pair.kid)).policy, undefined)
    const versions = async () => Promise.all([plain, tagged, own, pair.kid].map(version))
    time.now += 30 * day - 1
    for (let turn = 0; turn < 2; turn += 1) await look(kms)
    assert.deepEqual(await versions(), [1, 1, 1, 1])
    time.now += 1
    for (let turn = 0; turn < 3; turn += 1) await look(kms)
    assert.deepEqual(await versions(), [1, 2, 1, 1])
    time.now += 60 * day
    for (let turn = 0; turn < 3; turn += 1) await look(kms)
    assert.deepEqual(await versions(), [2, 3, 1, 1])
    // A tag that comes later counts from the next look, and one that goes no more.
    await alice().post(`/v1/crypto/keys/${plain}/tags`, { tags: ['payments'] })
    await alice().del(`/v1/crypto/keys/${tagged}/tags`, { tags: ['payments'] })
    await look(kms)
    time.now += 31 * day
    for (let turn = 0; turn < 2; turn += 1) await look(kms)
    assert.deepEqual(await versions(), [3, 3, 1, 1])
    // Without a setting of the key the rules count again.
    await set(own, { rotate_every: 0 })
    for (let turn = 0; turn < 2; turn += 1) await look(kms)
    assert.equal(await version(own), 2)
    const events = told.map(({ event, key }) => `${event} ${key}`)
    assert.equal(events.filter((event) => event === `rotation.soon ${tagged}`).length, 1)
    assert.equal(events.filter((event) => event === `rotation.done ${tagged}`).length, 2)
    assert.ok(events.indexOf(`rotation.soon ${tagged}`) < events.indexOf(`rotation.done ${tagged}`))
  })
}

test('a rotation is announced once, with the users of the key, even if it will fail', async () => {
  const { kms, time, told, alice, make, set, version } = await world(['algorithm=AES, every=90d'])
  await using _ = kms
  const [kid, failing, often] = [await make(), await make(), await make()]
  await set(often, { rotate_every: 86_400 })
  // Uses are the key's, whichever version did the work.
  await alice().post(`/v1/crypto/keys/${kid}/rotate`, {})
  time.now += 82 * day
  const encrypted = await alice().post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGk' })
  assert.equal(encrypted.status, 200)
  await kms.services.uses.flush()
  await alice().post(`/v1/crypto/keys/${failing}/disable`, {})
  await look(kms)
  assert.deepEqual(
    told.filter(({ event }) => event === 'rotation.soon'),
    [],
  )
  time.now += day
  for (let turn = 0; turn < 3; turn += 1) await look(kms)
  const soon = told.filter(({ event }) => event === 'rotation.soon')
  assert.deepEqual(soon.map(({ key }) => key).sort(), [kid, failing].sort())
  const about = (of: string) => soon.find(({ key }) => key === of)
  assert.deepEqual(
    [about(kid)?.used_by, about(kid)?.by, about(kid)?.will_fail],
    [['alice'], 'policy', undefined],
  )
  assert.match(String(about(failing)?.will_fail), /disabled/)
  assert.ok(kms.log.some((line) => line.startsWith('a key is due for rotation soon, but cannot be rotated')))
  time.now += 7 * day
  for (let turn = 0; turn < 4; turn += 1) await look(kms)
  assert.deepEqual([await version(kid), await version(failing)], [3, 1])
  const failed = () => told.filter(({ event, key }) => event === 'rotation.failed' && key === failing).length
  assert.equal(failed(), 1)
  time.now += day
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.equal(failed(), 2)
  await alice().post(`/v1/crypto/keys/${failing}/enable`, {})
  time.now += day
  await look(kms)
  assert.equal(await version(failing), 2)
  assert.equal(told.filter(({ event, key }) => event === 'rotation.soon' && key === failing).length, 1)
})

test('a rule by use rotates the version whose count reached the number', async () => {
  const { kms, make, version, set, rotation } = await world(['algorithm=AES, after_messages=2147483648'])
  await using _ = kms
  const [kid, own] = [await make(), await make()]
  await set(own, { rotate_after_messages: 4_000_000_000 })
  assert.deepEqual((await rotation(kid)).policy, { rotate_after_messages: 2 ** 31 })
  const used = query<[number, string], unknown>('UPDATE gcm_budget SET reserved = ? WHERE object_id = ?')
  for (const id of [kid, own]) await kms.environment.db.commit([change(used, [2 ** 31, id], 1)])
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.deepEqual([await version(kid), await version(own)], [2, 1])
})

test('changed rules apply to keys that are already scheduled, and a clock jump rotates each once', async () => {
  const { kms, time, make, version, rotation } = await world(['algorithm=AES, every=90d'])
  await using _ = kms
  const kid = await make()
  await look(kms)
  const shorter = { ...kms, environment: { ...kms.environment, config: { ...kms.environment.config } } }
  Object.assign(shorter.environment.config, { 'rotation.policy': ['algorithm=AES, every=10d'] })
  time.now += 10 * day
  await look(kms)
  assert.equal(await version(kid), 1)
  for (let turn = 0; turn < 2; turn += 1) await look(shorter)
  assert.equal(await version(kid), 2)
  // Ahead by years: one rotation. Back again: the interval counts from then.
  const before = time.now
  time.now += 2000 * day
  for (let turn = 0; turn < 3; turn += 1) await look(shorter)
  assert.equal(await version(kid), 3)
  time.now = before
  await look(shorter)
  time.now += 9 * day
  await look(shorter)
  assert.equal(await version(kid), 3)
  time.now += day
  await look(shorter)
  assert.equal(await version(kid), 4)
  assert.ok((await rotation(kid)).version === 4)
})

test('a rotation that failed under a fast clock is tried again when the clock is right', async () => {
  const { kms, time, alice, make, version } = await world(['algorithm=AES, every=10d'])
  await using _ = kms
  const [enabled, waiting] = [await make(), await make()]
  for (const kid of [enabled, waiting]) await alice().post(`/v1/crypto/keys/${kid}/disable`, {})
  const failures = () =>
    kms.audit.filter(
      ({ operation, outcome }) => operation === 'crypto.keys.rotation' && outcome === 'failure',
    ).length
  const before = time.now
  time.now += 400 * day
  for (let turn = 0; turn < 2; turn += 1) await look(kms)
  assert.equal(failures(), 2)
  time.now = before + 10 * day
  await alice().post(`/v1/crypto/keys/${enabled}/enable`, {})
  for (let turn = 0; turn < 3; turn += 1) await look(kms)
  assert.deepEqual([await version(enabled), await version(waiting)], [2, 1])
  assert.equal(failures(), 3)
})

test('invalid rules prevent the start with an error', () => {
  const read = (text: string) =>
    loadConfig({
      service: 'kms',
      table: rotationConfigSettings,
      file: 'absent.toml',
      env: { KMS_ROTATION_POLICY: text },
      args: [],
    }).values['rotation.policy']
  assert.equal(read('tag=a, every=1d; algorithm=RSA, every=12h').length, 2)
  for (const [text, sentence] of [
    ['every=90d', /rule 1: a rule needs tag or algorithm/],
    ['tag=a', /needs every or after_messages/],
    ['tag=a, every=90', /every: must be hours or days/],
    ['tag=a, every=0d', /every: must be hours or days/],
    ['tag=a, every=3651d', /every: must be hours or days/],
    ['tag=a, every=1d; algorithm=DES, every=1d', /rule 2: algorithm: must be one of AES, HMAC, .*got DES/],
    ['algorithm=RSA, after_messages=2147483648', /is only for AES keys/],
    ['tag=a, after_messages=1000', /after_messages: must be 1048576 to 4000000000/],
    ['tag=a, after_messages=5000000000', /after_messages/],
    ['tag=a, evry=1d', /evry: is unknown; a rule may contain tag, algorithm, every, after_messages/],
    ['tag=a, tag=b, every=1d', /tag: twice/],
    ['tag=_internal, every=1d', /tag: must be a tag that users can set/],
    ['{"tag":"a","every":["1d"]}', /every: must be a string or a number/],
    ['{"tag"', /must be a table, or a string like tag=payments/],
    ['nonsense', /must be a table, or a string like tag=payments/],
  ] as const)
    assert.throws(
      () => read(text),
      (error) => error instanceof StartupError && sentence.test(error.message),
      text,
    )
})
