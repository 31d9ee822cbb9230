import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, startTwoNodes } from '../testing/engines.ts'
import { type Started, startKms } from '../testing/start.ts'
import { webhookReceiver } from '../testing/webhook.ts'
import { kmsService } from './service.ts'

const day = 86_400_000

function createWorld() {
  const time = { now: Date.UTC(2026, 5, 1) }
  const { told, outbound, config } = webhookReceiver()
  const clock = { now: () => time.now, monotonic: () => time.now }
  const make = async (kms: Started, days: number | undefined) => {
    const alice = kms.user('alice')
    const { json } = await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
    if (days === undefined) return String(json.kid)
    const deactivation_at = new Date(time.now + days * day).toISOString()
    const path = `/v1/crypto/keys/${json.kid}`
    const { status, text } = await alice.call('PATCH', path, { json: { deactivation_at } })
    assert.equal(status, 200, text)
    return String(json.kid)
  }
  const named = (kid: string) =>
    told
      .filter(({ objects }) =>
        (objects as readonly { id: string }[] | undefined)?.some(({ id }) => id === kid),
      )
      .map(({ event, within_days }) => `${event} ${within_days}`)
  return {
    time,
    told,
    make,
    named,
    options: { clock, outbound },
    config: { ...config, notices: ['*=webhook'] },
  }
}

async function scan(kms: Started): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms keys and certificates that end')
  assert.ok(job)
  if (await job.due?.(kms.environment)) await job.run(kms.environment)
}

for (const engine of await bothEngines()) {
  test(`${engine.name}: the end of a key is announced 30, 7 and 1 days before, once over two nodes`, {
    skip: engine.skip,
  }, async () => {
    const { time, told, make, named, options, config } = createWorld()
    await using nodes = await startTwoNodes(engine, config, options)
    const { near, far } = nodes
    const [late, soon, short, none] = [
      await make(near, 100),
      await make(near, 5),
      await make(near, 1.5),
      await make(near, undefined),
    ]
    const look = () => Promise.all([scan(near), scan(far), scan(near), scan(far)])
    await look()
    assert.deepEqual(told, [], 'keys whose whole life is short are not announced')
    for (let days = 0; days < 101; days += 1) {
      time.now += day
      await look()
    }
    assert.deepEqual(named(late), ['key.ending 30', 'key.ending 7', 'key.ending 1'])
    assert.deepEqual([named(soon), named(short), named(none)], [['key.ending 1'], [], []])
    assert.equal(told.length, 4)
    assert.ok(told.every(({ owner }) => owner === 'alice'))
  })
}

test('many keys of one owner that end together are one notice, whose length is bounded', async () => {
  const { time, told, make, options, config } = createWorld()
  await using kms = await startKms({ ...options, config })
  for (let count = 0; count < 120; count += 1) await make(kms, 100)
  time.now += 75 * day
  await scan(kms)
  assert.equal(told.length, 1)
  assert.equal((told[0]?.objects as unknown[] | undefined)?.length, 100)
  assert.equal(told[0]?.more, 20)
  await scan(kms)
  assert.equal(told.length, 1)
})

test('without a receiver of these kinds the job scans nothing, and a suspension is announced with its reason', async () => {
  const { time, told, make, options, config } = createWorld()
  const notices = ['block=webhook', 'key.ending=none']
  await using kms = await startKms({ ...options, config: { ...config, notices } })
  await make(kms, 100)
  time.now += 99 * day
  await scan(kms)
  assert.deepEqual(told, [])
  const admin = kms.user('admin')
  await admin.post('/access/block', { user_id: 'mallory', reason: 'token was\nstolen' })
  await admin.call('DELETE', '/access/block', { json: { user_id: 'mallory' } })
  assert.deepEqual(
    told.map(({ event, user, by, reason }) => [event, user, by, reason]),
    [
      ['block', 'mallory', 'admin', 'token was\nstolen'],
      ['block.lifted', 'mallory', 'admin', undefined],
    ],
  )
})
