import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aliasCreation, endName, maxAliases } from '@warder/keys'
import { change, query } from '@warder/storage'
import type { Caller } from '../testing/client.ts'
import { startSharedKms } from '../testing/start.ts'

const kms = await startSharedKms()
const alice = kms.user('alice')
const bob = kms.user('bob')

const path = '/v1/crypto/aliases'
const data = Buffer.from('attack at dawn').toString('base64url')
const makeKey = async (who: Caller, body: object = { kty: 'oct', alg: 'A256GCM' }): Promise<string> =>
  (await who.post('/v1/crypto/keys', body)).json.kid
const encrypt = (who: Caller, kid: string) =>
  who.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
const readKid = (jwe: { readonly protected: string }): string =>
  JSON.parse(Buffer.from(jwe.protected, 'base64url').toString()).kid
const grant = (kid: string, operation_types: readonly string[]) =>
  alice.post('/access/grant', { unique_identifier: kid, user_id: 'bob', operation_types })
const put = (who: Caller, alias: string, json: object) =>
  who.call('PUT', `${path}/${encodeURIComponent(alias)}`, { json })

test('an alias is created, read, listed, moved and deleted without a change of its key', async () => {
  const [one, two] = [await makeKey(alice), await makeKey(alice)]
  const made = await alice.post(path, { alias: 'alias/life', kid: one })
  assert.equal(made.status, 200, made.text)
  const { created_at, changed_at, ...rest } = made.json
  assert.deepEqual(rest, { alias: 'alias/life', full_alias: 'alias/life@alice', kid: one })
  assert.equal(created_at, changed_at)
  assert.deepEqual((await alice.get(`${path}/life`)).json, made.json)
  assert.deepEqual((await alice.get(`${path}/alias%2Flife`)).json, made.json)
  assert.deepEqual((await alice.get(`${path}?kid=${one}`)).json, [made.json])
  const moved = await put(alice, 'alias/life', { kid: two, from: one })
  assert.deepEqual([moved.status, moved.json.kid], [200, two])
  assert.deepEqual((await alice.get(`${path}?kid=${one}`)).json, [])
  assert.equal((await put(alice, 'life', { kid: one, from: one })).status, 409, 'it stands for another key')
  assert.equal((await alice.del(`${path}/life`)).status, 204)
  for (const status of [
    (await alice.del(`${path}/life`)).status,
    (await alice.get(`${path}/life`)).status,
    (await put(alice, 'life', { kid: one })).status,
    (await encrypt(alice, 'alias/life')).status,
  ])
    assert.equal(status, 404)
  assert.equal((await encrypt(alice, two)).status, 200)
})

test('an alias is accepted wherever REST takes a kid; responses and headers contain the kid', async () => {
  const aes = await makeKey(alice)
  const hmac = await makeKey(alice, { kty: 'oct', alg: 'HS256' })
  const pair = (await alice.post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' })).json
  for (const [alias, kid] of [
    ['team/aes', aes],
    ['hmac', hmac],
    ['signer', pair.kid],
    ['verifier', pair.kid_public],
  ])
    assert.equal((await alice.post(path, { alias, kid })).status, 200)
  const sealed = (await encrypt(alice, 'alias/team/aes')).json
  assert.equal(readKid(sealed), aes)
  const renamed = { alg: 'dir', enc: 'A256GCM', kid: 'alias/team/aes' }
  const header = Buffer.from(JSON.stringify(renamed)).toString('base64url')
  const forged = await alice.post('/v1/crypto/decrypt', { ...sealed, protected: header })
  assert.equal(forged.status, 422, 'the header is authenticated, with an alias in it too')
  assert.deepEqual((await alice.post('/v1/crypto/decrypt', sealed)).json, { kid: aes, data })
  const tagged = await alice.post('/v1/crypto/mac', { kid: 'alias/hmac', alg: 'HS256', data })
  assert.equal(tagged.json.kid, hmac)
  const signed = (await alice.post('/v1/crypto/sign', { kid: 'alias/signer', alg: 'ES256', data })).json
  assert.equal(readKid(signed), pair.kid_public)
  const batch = await alice.post('/v1/crypto/batch', {
    operations: [{ op: 'mac', kid: 'alias/hmac', alg: 'HS256', data }],
  })
  assert.equal(batch.json.results[0].result.mac, tagged.json.mac)
  assert.equal((await alice.get('/v1/crypto/keys/alias%2Fteam%2Faes')).json.kid, aes)
  const tags = await alice.post('/v1/crypto/keys/alias%2Fhmac/tags', { tags: ['x'] })
  assert.deepEqual(tags.json, { kid: hmac, tags: ['x'] })
  assert.equal((await grant('alias/team/aes', ['encrypt'])).status, 200)
  const list = await alice.get('/access/list/alias%2Fteam%2Faes')
  assert.deepEqual(list.json, [{ user_id: 'bob', operations: ['encrypt'] }])
  const record = kms.audit.findLast(({ operation }) => operation === 'access.grant')
  assert.deepEqual([record?.object, record?.details?.alias], [aes, 'alias/team/aes'])
  const used = kms.audit.findLast(({ operation }) => operation === 'crypto.mac')
  assert.deepEqual([used?.object, used?.details?.alias], [hmac, 'alias/hmac'])
  assert.equal((await alice.del('/v1/crypto/keys/alias%2Fsigner')).status, 204)
  assert.deepEqual((await alice.get(`${path}/verifier`)).status, 404, 'it went with the other half')
})

test('a ciphertext whose header names an alias is decrypted', async () => {
  const { kid } = (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })).json
  await alice.post(path, { alias: 'header', kid })
  const answer = await alice.post('/v1/crypto/verify', {
    protected: Buffer.from('{"alg":"ES256","kid":"alias/header"}').toString('base64url'),
    data,
    signature: data,
  })
  assert.deepEqual([answer.status, answer.json.error], [422, 'crypto_failure'], 'found, and of another type')
})

test("two users can have the same alias for their own keys; a grantee's alias is not used", async () => {
  const [hers, his] = [await makeKey(alice), await makeKey(bob)]
  await alice.post(path, { alias: 'invoices', kid: hers })
  assert.equal((await encrypt(bob, 'alias/invoices')).status, 404, 'her alias is not his')
  assert.equal((await encrypt(bob, 'alias/invoices@alice')).status, 404, 'nor her key')
  assert.equal((await bob.get(`${path}/invoices%40alice`)).status, 404)
  await grant(hers, ['encrypt'])
  assert.equal((await encrypt(bob, 'alias/invoices')).status, 404)
  assert.equal(readKid((await encrypt(bob, 'alias/invoices@alice')).json), hers)
  assert.equal((await bob.get(`${path}/invoices%40alice`)).json.kid, hers)
  await bob.post(path, { alias: 'invoices', kid: his })
  assert.equal(readKid((await encrypt(bob, 'alias/invoices')).json), his)
  assert.equal(readKid((await encrypt(alice, 'alias/invoices')).json), hers)
  assert.equal(readKid((await encrypt(alice, 'alias/invoices@alice')).json), hers)
  for (const answer of [
    await put(bob, 'invoices@alice', { kid: his }),
    await bob.del(`${path}/invoices%40alice`),
    await bob.post(path, { alias: 'x@alice', kid: his }),
  ])
    assert.equal(answer.status, 400, 'aliases of others are not changed')
  await bob.post(path, { alias: 'of-hers', kid: 'alias/invoices@alice' })
  assert.equal(readKid((await encrypt(bob, 'alias/of-hers')).json), hers)
  await alice.post('/access/revoke', {
    unique_identifier: hers,
    user_id: 'bob',
    operation_types: ['encrypt'],
  })
  assert.equal((await encrypt(bob, 'alias/of-hers')).status, 404, 'an alias gives no right')
  assert.equal((await bob.post(path, { alias: 'no', kid: hers })).status, 404)
})

test('a duplicate alias, too many aliases and an invalid name are refused', async () => {
  const kid = await makeKey(alice)
  const at = (alias: string, key = kid) => alice.post(path, { alias, kid: key })
  assert.equal((await at('taken')).status, 200)
  const again = await at('alias/taken')
  assert.deepEqual([again.status, again.json.error], [409, 'conflict'])
  for (const wrong of [
    '',
    'alias/',
    'a b',
    'ä',
    '/a',
    'a/',
    'a//b',
    '../x',
    '*',
    'a@b',
    'a'.repeat(129),
    'a\n',
  ])
    assert.equal((await at(wrong)).status, 400, JSON.stringify(wrong))
  for (const missing of ['alias/none', '', '*', 'x'])
    assert.equal((await at('right', missing)).status, 404, missing)
  assert.equal((await alice.get(`${path}?after=%00`)).status, 400)
  const carol = kms.user('carol')
  const own = await makeKey(carol)
  const { db, clock } = kms.environment
  await db.commit(
    Array.from({ length: maxAliases }, (_, at) =>
      aliasCreation(db, { owner: 'carol', name: `n${at}` }, own as never, clock.now()),
    ).flat(),
  )
  assert.equal((await carol.post(path, { alias: 'more', kid: own })).status, 409)
  assert.equal((await carol.get(path)).json.length, maxAliases)
  assert.equal((await kms.with({}).get(path)).status, 401)
})

test('the removal of a key deletes its aliases, even if its identifier is used again', async () => {
  const kid = await makeKey(alice)
  await alice.post(path, { alias: 'gone', kid })
  assert.equal((await alice.del(`/v1/crypto/keys/${kid}`)).status, 204)
  assert.equal((await alice.get(`${path}/gone`)).status, 404)
  assert.equal((await encrypt(alice, 'alias/gone')).status, 404)
  // Of a key with versions, too.
  const erna = kms.user('erna')
  const rotated = await makeKey(erna)
  await erna.post(path, { alias: 'gone', kid: rotated })
  assert.equal((await erna.post(`/v1/crypto/keys/${rotated}/rotate`, {})).status, 200)
  assert.equal((await erna.del(`/v1/crypto/keys/${rotated}`)).status, 204)
  assert.deepEqual((await erna.get(path)).json, [])
})

test('an existing object with the identifier of an alias keeps it, and no alias with this name can be created', async () => {
  const fay = kms.user('fay')
  const rename = query<[string, string], unknown>('UPDATE managed_object SET id = ? WHERE id = ?')
  for (const id of ['alias/old', 'alias/older@fay'])
    await kms.environment.db.commit([change(rename, [id, await makeKey(fay)], 1)])
  const kid = await makeKey(fay)
  for (const alias of ['old', 'older']) {
    const refused = await fay.post(path, { alias, kid })
    assert.deepEqual([refused.status, refused.json.error], [409, 'conflict'], alias)
  }
  for (const id of ['alias/old', 'alias/older@fay'])
    assert.equal((await fay.get(`/v1/crypto/keys/${encodeURIComponent(id)}`)).json.kid, id)
})

test('while an alias moves, each request uses either the old or the new key', async () => {
  const keys = [await makeKey(alice), await makeKey(alice)]
  await alice.post(path, { alias: 'moving', kid: keys[0] })
  let moving = true
  const moves = (async () => {
    for (let round = 1; round <= 20; round += 1)
      assert.equal((await put(alice, 'moving', { kid: keys[round % 2] })).status, 200)
    moving = false
  })()
  const seen = new Set<string>()
  while (moving) {
    const operations = Array.from({ length: 5 }, () => ({
      op: 'encrypt',
      kid: 'alias/moving',
      alg: 'dir',
      enc: 'A256GCM',
      data,
    }))
    const { results } = (await alice.post('/v1/crypto/batch', { operations })).json
    for (const { result } of results) {
      seen.add(readKid(result))
      assert.equal((await alice.post('/v1/crypto/decrypt', result)).json.data, data)
    }
  }
  await moves
  assert.ok([...seen].every((kid) => keys.includes(kid)))
})

test("aliases are transferred with their keys, and users do not inherit each other's aliases", async () => {
  const dora = kms.user('dora')
  const emil = kms.user('emil')
  const [hers, his] = [await makeKey(dora), await makeKey(emil)]
  for (const alias of ['only-hers', 'both']) await dora.post(path, { alias, kid: hers })
  await emil.post(path, { alias: 'both', kid: his })
  const { db, clock } = kms.environment
  const parts = { db, commit: db.commit, now: () => clock.now() }
  await endName(parts, 'dora', 'subject-1')
  assert.deepEqual((await dora.get(path)).json, [], 'whoever is called dora next')
  const moved = await kms
    .user('admin')
    .post('/access/transfer', { from_user_id: 'ended:dora:subject-1', to_user_id: 'emil' })
  assert.equal(moved.status, 200, moved.text)
  const list = (await emil.get(path)).json as { readonly alias: string; readonly kid: string }[]
  assert.deepEqual(
    list.map(({ alias, kid }) => [alias, kid]),
    [
      ['alias/both', his],
      ['alias/only-hers', hers],
    ],
  )
  assert.equal(readKid((await encrypt(emil, 'alias/only-hers')).json), hers)
})
