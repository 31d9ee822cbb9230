import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { storeKeyAs } from '@warder/kms/testing'
import {
  dataKey,
  type GoogleWorld,
  giveWrappingKey,
  grant,
  owner,
  startGoogle,
  wrappingKid,
} from './testing/world.ts'

let world: GoogleWorld
before(async () => {
  world = await startGoogle()
})
after(() => world[Symbol.asyncDispose]())

async function wrap(claims = {}, of = world): Promise<string> {
  const answer = await of.post('wrap', { ...(await of.tokens(claims)), key: dataKey })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.wrapped_key
}

async function unwrap(wrapped_key: string, claims = {}, of = world) {
  return of.post('unwrap', { ...(await of.tokens(claims)), wrapped_key })
}

test('two wrappings of one key are different, and both open', async () => {
  const [one, other] = [await wrap(), await wrap()]
  assert.notEqual(one, other)
  for (const wrapped of [one, other]) assert.deepEqual((await unwrap(wrapped)).json, { key: dataKey })
})

test('a wrapped key opens for its resource alone', async () => {
  const wrapped = await wrap({ resource_name: 'item1', perimeter_id: 'p' })
  for (const resource_name of ['item2', 'item', 'item1p', 'Item1']) {
    const { status, json } = await unwrap(wrapped, { resource_name, perimeter_id: 'p' })
    assert.equal(status, 400, resource_name)
    assert.equal(json.message, 'wrapped_key: was not wrapped by this service for this use.')
  }
  // A token with U+0000 in a claim is none.
  const { status } = await unwrap(wrapped, { resource_name: 'item1\u0000', perimeter_id: 'p' })
  assert.equal(status, 401)
})

test('a wrapped key opens in its perimeter alone; one without a perimeter opens in all', async () => {
  const inside = await wrap({ perimeter_id: 'inside' })
  assert.equal((await unwrap(inside, { perimeter_id: 'inside' })).status, 200)
  for (const perimeter_id of ['outside', 'Inside', '', undefined])
    assert.equal((await unwrap(inside, { perimeter_id })).status, 403, String(perimeter_id))
  assert.equal((await unwrap(await wrap(), { perimeter_id: 'inside' })).status, 200)
})

test('a perimeter that is written over in the wrapped key does not open it', async () => {
  const bytes = Buffer.from(await wrap({ perimeter_id: 'inside' }), 'base64')
  bytes.write('beside', bytes.indexOf('inside'))
  assert.equal((await unwrap(bytes.toString('base64'), { perimeter_id: 'beside' })).status, 400)
})

test('no changed, cut or extended wrapped key opens, and none of another installation', async () => {
  const bytes = Buffer.from(await wrap(), 'base64')
  for (let index = 0; index < bytes.length; index += 3) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index)
    assert.equal((await unwrap(changed.toString('base64'))).status, 400, `byte ${index}`)
  }
  for (const other of [
    bytes.subarray(0, -1),
    bytes.subarray(0, 40),
    bytes.subarray(0, 4),
    Buffer.concat([bytes, Buffer.of(0)]),
    Buffer.alloc(300),
  ])
    assert.equal((await unwrap(other.toString('base64'))).status, 400)
  await using elsewhere = await startGoogle({ issuers: world.issuers })
  assert.equal((await unwrap(await wrap({}, elsewhere))).status, 400)
})

test('keys, reasons and wrapped keys over their limits, or that are no base64, are refused by name', async () => {
  const cases: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['wrap', { key: Buffer.alloc(129, 7).toString('base64') }, /^key: is longer than 128 bytes/],
    ['wrap', { key: '' }, /^key: is empty/],
    ['wrap', { key: 'a_b-' }, /^key: is not base64/],
    ['wrap', { key: 'YR==' }, /^key: is not base64/],
    ['wrap', { reason: 'x'.repeat(1025) }, /^reason: is longer than 1024 bytes/],
    ['wrap', { reason: 'é'.repeat(513) }, /^reason: is longer than 1024 bytes/],
    ['wrap', { reason: { op: 'read' } }, /reason/],
    ['unwrap', { wrapped_key: 'A'.repeat(1400) }, /^wrapped_key: is longer than 1024 bytes/],
    ['unwrap', { wrapped_key: 'not base64' }, /^wrapped_key: is not base64/],
    ['unwrap', { wrapped_key: ['AAAA'] }, /wrapped_key/],
    ['unwrap', {}, /wrapped_key/],
  ]
  for (const [operation, members, message] of cases) {
    const body = { ...(await world.tokens()), ...(operation === 'wrap' && { key: dataKey }), ...members }
    const { status, json } = await world.post(operation, body)
    assert.equal(status, 400, json.message)
    assert.match(json.message, message)
    assert.equal(world.kms.audit.at(-1)?.outcome, 'failure')
  }
  const maxRequest = { key: Buffer.alloc(128, 7).toString('base64'), reason: 'x'.repeat(1024) }
  const names = { resource_name: 'r'.repeat(128), perimeter_id: 'p'.repeat(128) }
  const largeWrap = await world.post('wrap', { ...(await world.tokens(names)), ...maxRequest })
  assert.equal(largeWrap.status, 200, largeWrap.text)
  assert.ok(largeWrap.json.wrapped_key.length <= 1024, 'Google keeps 1 KB')
  assert.equal((await unwrap(largeWrap.json.wrapped_key, names)).json.key, maxRequest.key)
  const huge = { ...(await world.tokens()), key: dataKey, padding: 'x'.repeat(70_000) }
  assert.equal((await world.post('wrap', huge)).status, 413)
})

test('the wrapping key is changed: new keys are wrapped with the new one, and old ones open', async () => {
  await using before = await startGoogle({ issuers: world.issuers })
  const old = await wrap({}, before)
  await giveWrappingKey(before.kms, 'second-version')
  await using now = await startGoogle({
    issuers: world.issuers,
    db: before.kms.environment.db,
    seal: before.kms.environment.seal,
    keys: false,
    config: { 'google_cse_config.google_cse_key': 'second-version' },
  })
  const fresh = await wrap({}, now)
  assert.ok(Buffer.from(fresh, 'base64').includes('second-version'))
  for (const wrapped of [old, fresh]) assert.equal((await unwrap(wrapped, {}, now)).json.key, dataKey)
  assert.equal(now.kms.audit.at(-2)?.object, wrappingKid)
  // A node that has not been told yet opens what another one wrapped.
  assert.equal((await unwrap(fresh, {}, before)).json.key, dataKey)

  const taken = { unique_identifier: wrappingKid, user_id: 'google:*', operation_types: ['decrypt'] }
  const revoked = await startRevoking(now, taken)
  assert.equal(revoked, 200)
  assert.equal((await unwrap(old, {}, now)).status, 400, 'no longer granted')
  assert.equal((await unwrap(fresh, {}, now)).status, 200)
})

async function startRevoking({ kms }: GoogleWorld, grant: unknown): Promise<number> {
  return (await kms.user(owner).post('/access/revoke', grant)).status
}

test('a key of somebody else is no version of the wrapping key, whatever its owner grants', async () => {
  await giveWrappingKey(world.kms, 'key-of-mallory', 'mallory')
  await using mallory = await startGoogle({
    issuers: world.issuers,
    db: world.kms.environment.db,
    seal: world.kms.environment.seal,
    keys: false,
    config: { 'google_cse_config.google_cse_key': 'key-of-mallory' },
  })
  const wrapped = await wrap({}, mallory)
  assert.equal((await unwrap(wrapped, {}, mallory)).status, 200)
  assert.equal((await unwrap(wrapped)).status, 400)
})

test('without a grant to Google, with a deactivated or destroyed key, or one of another kind nothing is wrapped', async () => {
  const alice = world.kms.user(owner)
  const made = async (body: unknown): Promise<string> => (await alice.post('/v1/crypto/keys', body)).json.kid
  const kinds = {
    'not granted': [await made({ kty: 'oct', alg: 'A256GCM' }), 404],
    'of 128 bits': [await made({ kty: 'oct', alg: 'A128GCM' }), 422],
    'an HMAC key': [await made({ kty: 'oct', alg: 'HS256' }), 422],
    'a private key': [await made({ kty: 'EC', crv: 'P-256', alg: 'ES256' }), 422],
    'no key at all': ['0199aaaa-0000-7000-8000-000000000000', 404],
  } as const
  for (const [name, [kid, status]] of Object.entries(kinds)) {
    if (status === 422) await grant(world.kms, kid, ['encrypt', 'decrypt'])
    await using other = await startGoogle({
      issuers: world.issuers,
      db: world.kms.environment.db,
      seal: world.kms.environment.seal,
      keys: false,
      config: { 'google_cse_config.google_cse_key': kid },
    })
    const answer = await other.post('wrap', { ...(await other.tokens()), key: dataKey })
    assert.equal(answer.status, status, `${name} ${answer.text}`)
    assert.equal((await other.get('status')).status, 500, name)
  }
})

test('a key that is destroyed opens nothing any more, on the next request', async () => {
  await using gone = await startGoogle({ issuers: world.issuers })
  const wrapped = await wrap({}, gone)
  assert.equal((await unwrap(wrapped, {}, gone)).status, 200)
  assert.equal((await gone.get('status')).status, 200)
  assert.equal((await gone.kms.user(owner).del(`/v1/crypto/keys/${wrappingKid}`)).status, 204)
  const { status, text } = await unwrap(wrapped, {}, gone)
  assert.ok(status === 404 || status === 422, text)
  assert.ok(!text.includes(dataKey))
  assert.equal((await gone.get('status')).status, 500)
})

test('keys may be granted to one user alone', async () => {
  await using few = await startGoogle({ issuers: world.issuers, keys: false })
  await storeKeyAs(few.kms, wrappingKid, owner, { kty: 'oct', k: 'A'.repeat(43) }, 'A256GCM', false)
  const granted = {
    unique_identifier: wrappingKid,
    user_id: 'google:alice@example.com',
    operation_types: ['encrypt', 'decrypt'],
  }
  assert.equal((await few.kms.user(owner).post('/access/grant', granted)).status, 200)
  const wrapped = await wrap({}, few)
  assert.equal((await unwrap(wrapped, {}, few)).status, 200)
  const email = 'bob@example.com'
  const bob = await few.post('unwrap', {
    authentication: await few.authentication({ email }),
    authorization: await few.authorization({ email }),
    wrapped_key: wrapped,
  })
  assert.equal(bob.status, 403)
})

test('what was wrapped by another path, or is a JWE of the same key, does not open', async () => {
  const jwe = await world.kms.user(owner).post('/v1/crypto/encrypt', {
    kid: wrappingKid,
    alg: 'dir',
    enc: 'A256GCM',
    data: Buffer.from(dataKey, 'base64').toString('base64url'),
  })
  const { iv, ciphertext, tag } = jwe.json
  const parts = [iv, ciphertext, tag].map((part: string) => Buffer.from(part, 'base64url'))
  const head = Buffer.concat([
    Buffer.from('WGC\u0001\u0001'),
    Buffer.of(wrappingKid.length),
    Buffer.from(wrappingKid),
    Buffer.of(0),
  ])
  const wrapped = Buffer.concat([head, ...parts]).toString('base64')
  assert.equal((await unwrap(wrapped)).status, 400)
})
