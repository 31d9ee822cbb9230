import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destructionWaits, rotate, throughLife } from '../testing/key-life.ts'
import {
  dataKey,
  type GoogleWorld,
  giveWrappingKey,
  owner,
  startGoogle,
  wrappingKid,
} from './testing/world.ts'

const wrap = async (world: GoogleWorld) =>
  (await world.post('wrap', { ...(await world.tokens()), key: dataKey })).json.wrapped_key as string
const unwrap = async (world: GoogleWorld, wrapped_key: string) =>
  world.post('unwrap', { ...(await world.tokens()), wrapped_key })

test("Google's clients are told in the form of its reference why a wrapping key is not used", async () => {
  await using world = await startGoogle({ config: destructionWaits })
  const wrapped = await wrap(world)
  const told = (status: number, json: Record<string, unknown>) => {
    if (status === 200) return 200
    assert.deepEqual(Object.keys(json), ['code', 'message', 'details'])
    assert.equal(json.code, status)
    return `${status} ${json.message}`
  }
  const life = await throughLife(world.kms, owner, wrappingKid, async () => {
    const wrapping = await world.post('wrap', { ...(await world.tokens()), key: dataKey })
    const opening = await unwrap(world, wrapped)
    const { status } = await world.get('status')
    return [told(wrapping.status, wrapping.json), told(opening.status, opening.json), status]
  })
  const twice = (answer: unknown, status: number) => [answer, answer, status]
  const usable = twice(200, 200)
  assert.deepEqual(life, {
    active: usable,
    disabled: twice('422 The key is disabled: it cannot be used until it is enabled.', 500),
    enabled: usable,
    'awaiting destruction': twice(
      '422 The destruction of the key is pending: it cannot be used unless it is restored.',
      500,
    ),
    restored: usable,
    // It wraps nothing new, and documents that it wrapped open.
    deactivated: ['422 The key is Deactivated: it cannot be used for this.', 200, 500],
    destroyed: twice('404 Key not found.', 500),
  })
})

test('a wrapping key that was rotated wraps with its newest version, and opens what each one wrapped', async () => {
  await using world = await startGoogle()
  const { kms, issuers } = world
  const old = await wrap(world)
  const version = await rotate(kms, owner, wrappingKid)
  const fresh = await wrap(world)
  assert.ok(Buffer.from(fresh, 'base64').includes(version))
  for (const wrapped of [old, fresh]) assert.equal((await unwrap(world, wrapped)).json.key, dataKey)
  assert.equal((await world.get('status')).status, 200)

  // Behind another wrapping key of the same owner its versions open still, as its grant says.
  await giveWrappingKey(kms, 'next')
  await using next = await startGoogle({
    issuers,
    db: kms.environment.db,
    seal: kms.environment.seal,
    keys: false,
    config: { 'google_cse_config.google_cse_key': 'next' },
  })
  for (const wrapped of [old, fresh]) assert.equal((await unwrap(next, wrapped)).json.key, dataKey)

  const user = kms.user(owner)
  const path = `/v1/crypto/keys/${wrappingKid}`
  const oldest = await user.call('PUT', `${path}/rotation`, { json: { min_decrypt_version: 2 } })
  assert.equal(oldest.status, 200, oldest.text)
  assert.equal((await unwrap(world, old)).status, 422, 'older than the owner lets it be')
  assert.equal((await unwrap(world, fresh)).status, 200)
  assert.equal((await user.post(`${path}/disable`, {})).status, 200)
  assert.equal((await unwrap(world, fresh)).status, 422)
  assert.equal((await unwrap(next, fresh)).status, 422)
  assert.equal((await user.post(`${path}/enable`, {})).status, 200)
  const taken = { unique_identifier: wrappingKid, user_id: 'google:*', operation_types: ['decrypt'] }
  assert.equal((await user.post('/access/revoke', taken)).status, 200)
  assert.equal((await unwrap(next, fresh)).status, 400)
})
